"""Webhook endpoints over HTTP. The notifier stores them, the api has their apps."""

from __future__ import annotations

import re
from typing import Final

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import Parameters, id_of, parse_query
from swap_api.http.requests import Request
from swap_api.management.http.answers import (
    actor_of,
    json_response,
    listed_from_place,
    read,
    window_after,
)
from swap_api.management.http.parameters import (
    MessagesParameters,
    ReplayBody,
    WebhookEventsBody,
)
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.model.refusals import NotFound

MESSAGE_FILTERS: Final = {"since", "until", "undelivered_only", "delivered_only", "oldest_first"}
MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


class WebhookEndpoints:
    """What is more than one call of a use case with an id and a body that come in this order."""

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
