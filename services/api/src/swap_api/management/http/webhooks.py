"""Webhook endpoints over HTTP. The notifier stores them, the api has their apps."""

from __future__ import annotations

import re
from typing import Final

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import Parameters, id_of, parse_query
from swap_api.http.requests import Request
from swap_api.management.decide.listing import Row
from swap_api.management.http.organizations import (
    actor_of,
    json_response,
    listed_from_place,
    read,
    window_after,
)
from swap_api.management.http.parameters import (
    MessagesParameters,
    ReplayBody,
    WebhookBody,
    WebhookEventsBody,
)
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.model.refusals import NotFound

MESSAGE_FILTERS: Final = {"since", "until", "undelivered_only", "delivered_only", "oldest_first"}
MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


class WebhookEndpoints:
    def __init__(self, manage_webhooks: ManageWebhooks) -> None:
        self._keep = manage_webhooks

    async def webhooks(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        return json_response(await self._keep.list_all(app_id, actor=actor_of(context)))

    async def figures(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        return json_response(await self._keep.figures(app_id, actor=actor_of(context)))

    async def add(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        body = await read(WebhookBody, request)
        added = await self._keep.add(app_id, body.model_dump(), actor=actor_of(context))
        return json_response(added, is_secret=True)

    async def choose_events(self, request: Request, context: Context) -> Response:
        body = await read(WebhookEventsBody, request)
        return json_response(await self._order("events", request, context, body))

    async def rotate(self, request: Request, context: Context) -> Response:
        return json_response(await self._order("rotate", request, context), is_secret=True)

    async def enable(self, request: Request, context: Context) -> Response:
        return json_response(await self._order("enable", request, context))

    async def disable(self, request: Request, context: Context) -> Response:
        return json_response(await self._order("disable", request, context))

    async def remove(self, request: Request, context: Context) -> Response:
        return json_response(await self._order("remove", request, context))

    async def test(self, request: Request, context: Context) -> Response:
        return json_response(await self._order("test", request, context))

    async def replay(self, request: Request, context: Context) -> Response:
        body = await read(ReplayBody, request)
        return json_response(await self._order("replay", request, context, body))

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
        self, what: str, request: Request, context: Context, body: Parameters | None = None
    ) -> Row:
        webhook_id = id_of(request, "webhookId")
        details = {} if body is None else body.model_dump()
        return await self._keep.order(webhook_id, what, details, actor=actor_of(context))


def _message_id(request: Request) -> str:
    """
    :raises NotFound: when it can be none.
    """
    message_id: str = request.path_params["messageId"]
    if not MESSAGE_ID.fullmatch(message_id):
        raise NotFound
    return message_id
