"""Webhook endpoints over HTTP. The notifier stores them, the api has their apps."""

from __future__ import annotations

import re
from typing import Any, Final, Unpack

from starlette.responses import Response

from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.parameters import Parameters, id_of, parse_query
from swap_api.http.requests import Request
from swap_api.management.http.addresses import (
    APP,
    COUNT_LIMIT,
    WEBHOOK,
    get_endpoint,
    post_endpoint,
)
from swap_api.management.http.answers import (
    actor_of,
    json_response,
    listed_from_place,
    read,
    window_after,
)
from swap_api.management.http.calls import (
    ChangeOptions,
    change_endpoint,
    order_endpoint,
    read_endpoint,
)
from swap_api.management.http.parameters import (
    MessagesParameters,
    ReplayBody,
    WebhookBody,
    WebhookEventsBody,
)
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.model.refusals import NotFound
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.figures import WebhookFiguresModel
from swap_contracts.public.management import (
    NewWebhookModel,
    WebhookMessageDetailModel,
    WebhookMessageModel,
    WebhookModel,
    WebhookRemovedModel,
    WebhookReplayedModel,
    WebhookResentModel,
    WebhookSecretModel,
    WebhookSwitchedModel,
    WebhookTestedModel,
)

MESSAGE_FILTERS: Final = {"since", "until", "undelivered_only", "delivered_only", "oldest_first"}
MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


class WebhookEndpoints:
    """The requests that name a message or filters, and those with a body that is read first."""

    def __init__(self, manage_webhooks: ManageWebhooks) -> None:
        self._keep = manage_webhooks

    async def choose_events(self, request: Request, context: Context) -> Response:
        return await self._order("events", await read(WebhookEventsBody, request), request, context)

    async def replay(self, request: Request, context: Context) -> Response:
        return await self._order("replay", await read(ReplayBody, request), request, context)

    async def message(self, request: Request, context: Context) -> Response:
        webhook_id, message_id = id_of(request, "webhookId"), _message_id(request)
        return json_response(
            await self._keep.message(webhook_id, message_id, actor=actor_of(context))
        )

    async def replay_message(self, request: Request, context: Context) -> Response:
        webhook_id, message_id = id_of(request, "webhookId"), _message_id(request)
        return json_response(
            await self._keep.replay(webhook_id, message_id, actor=actor_of(context))
        )

    async def messages(self, request: Request, context: Context) -> Response:
        webhook_id = id_of(request, "webhookId")
        parameters = parse_query(MessagesParameters, request.query)
        part = await self._keep.messages(
            webhook_id,
            # A notifier of an earlier version refuses unknown members.
            parameters.model_dump(exclude_defaults=True, include=MESSAGE_FILTERS),
            window_after(parameters, parameters.starting_after),
            actor=actor_of(context),
        )
        return listed_from_place(request, part)

    async def _order(
        self, what: str, body: Parameters, request: Request, context: Context
    ) -> Response:
        webhook_id, actor = id_of(request, "webhookId"), actor_of(context)
        return json_response(
            await self._keep.order(webhook_id, what, body.model_dump(), actor=actor)
        )


def _message_id(request: Request) -> str:
    """
    :raises NotFound: when it can be none.
    """
    message_id: str = request.path_params["messageId"]
    if not MESSAGE_ID.fullmatch(message_id):
        raise NotFound
    return message_id


def webhook_endpoints(webhooks: ManageWebhooks, endpoints: WebhookEndpoints) -> list[Endpoint]:
    refusals = (ErrorCode.DISABLED_BY_OPERATOR,)
    return [
        read_endpoint(
            f"{APP}/webhooks",
            "webhook_webhooks",
            lambda call: webhooks.list_all(call.id, actor=call.actor),
            "List an app's webhook endpoints",
            list[WebhookModel],
        ),
        read_endpoint(
            f"{APP}/webhooks/figures",
            "webhook_figures",
            lambda call: webhooks.figures(call.id, actor=call.actor),
            "Count the messages of the last day to each endpoint of an app",
            list[WebhookFiguresModel],
        ),
        change_endpoint(
            f"{APP}/webhooks",
            "webhook_add",
            lambda call: webhooks.add(call.id, call.body.model_dump(), actor=call.actor),
            "Add a webhook endpoint and show its secret, this once",
            NewWebhookModel,
            body=WebhookBody,
            refuses=(*COUNT_LIMIT, *refusals),
            shows_secret=True,
        ),
        _webhook_order(
            webhooks,
            "rotate",
            "Give an endpoint a new secret; the old one signs beside it for a day",
            WebhookSecretModel,
            shows_secret=True,
        ),
        _webhook_order(
            webhooks,
            "enable",
            "Send to an endpoint again, from now on",
            WebhookSwitchedModel,
            refuses=refusals,
        ),
        _webhook_order(
            webhooks,
            "remove",
            "Remove an endpoint: nothing is sent there or kept for it any more",
            WebhookRemovedModel,
            refuses=refusals,
        ),
        post_endpoint(
            f"{WEBHOOK}/events",
            endpoints.choose_events,
            "Change which events are sent to an endpoint, from now on",
            WebhookModel,
            WebhookEventsBody,
        ),
        _webhook_order(
            webhooks,
            "disable",
            "Send nothing more to an endpoint",
            WebhookSwitchedModel,
        ),
        _webhook_order(
            webhooks,
            "test",
            "Send a webhook about a swap that does not exist",
            WebhookTestedModel,
        ),
        post_endpoint(
            f"{WEBHOOK}/replay",
            endpoints.replay,
            "Send everything since a moment again",
            WebhookReplayedModel,
            ReplayBody,
        ),
        post_endpoint(
            f"{WEBHOOK}/messages/{{messageId}}/replay",
            endpoints.replay_message,
            "Send one message again: the same id, the same bytes",
            WebhookResentModel,
        ),
        get_endpoint(
            f"{WEBHOOK}/messages",
            endpoints.messages,
            "List an endpoint's messages with every attempt: what waits, then what ended last",
            list[WebhookMessageModel],
            is_paged=True,
            query=MessagesParameters,
        ),
        get_endpoint(
            f"{WEBHOOK}/messages/{{messageId}}",
            endpoints.message,
            "Read a message with its body and its latest attempts: what was sent and answered",
            WebhookMessageDetailModel,
        ),
    ]


def _webhook_order(
    webhooks: ManageWebhooks,
    what: str,
    summary: str,
    answers: Any,
    **options: Unpack[ChangeOptions],
) -> Endpoint:
    return order_endpoint(
        f"{WEBHOOK}/{what}",
        f"webhook_{what}",
        lambda call: webhooks.order(call.id, what, {}, actor=call.actor),
        summary,
        answers,
        **options,
    )
