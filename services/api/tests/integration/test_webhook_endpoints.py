"""The notifier's endpoints over HTTP: an id of one endpoint never affects another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_api.management.adapters.webhook_endpoints import NotifierEndpoints
from swap_api.management.decide.bounds import Bound, CountedKind
from swap_api.management.decide.listing import Part, Window
from swap_api.model.refusals import ApiRefusal, NotFound
from swap_contracts.public.errors import ErrorCode
from tests.support.serving import get, post, serve

pytestmark = pytest.mark.connected
OWNER = UUID("6f0e7a52-5a07-4d5a-9f0e-0f5b7b2a9c11")
MESSAGE = "msg_1"


class Notifier:
    """The internal port of a notifier with one message."""

    def __init__(self) -> None:
        self.replayed: list[str] = []
        self.reason = "disabled"
        self.query: dict[str, str] = {}

    async def find(self, request: Request) -> Response:
        if request.path_params["id"] != MESSAGE:
            return JSONResponse({"error": "no such message"}, status_code=404)
        return JSONResponse({"id": MESSAGE, "endpoint_id": str(OWNER)})

    async def replay(self, request: Request) -> Response:
        self.replayed.append(request.path_params["id"])
        return JSONResponse({"id": MESSAGE, "is_due": True}, status_code=202)

    async def refuse(self, request: Request) -> Response:
        return JSONResponse({"error": "not now", "reason": self.reason}, status_code=409)

    async def messages(self, request: Request) -> Response:
        self.query = dict(request.query_params)
        return JSONResponse({"messages": [{"id": MESSAGE}], "total": 7, "has_more": True})


@pytest.fixture
def notifier() -> Notifier:
    return Notifier()


@pytest.fixture
async def endpoints(notifier: Notifier) -> AsyncIterator[NotifierEndpoints]:
    app = Starlette(
        routes=[
            get("/admin/messages/{id}", notifier.find),
            post("/admin/messages/{id}/replay", notifier.replay),
            get("/admin/endpoints/{id}/messages", notifier.messages),
            post("/admin/endpoints", notifier.refuse),
            post("/admin/endpoints/{id}/enable", notifier.refuse),
        ]
    )
    async with serve(app) as url:
        endpoints = NotifierEndpoints(url, SecretStr("token"))
        yield endpoints
        await endpoints.close()


async def test_a_message_of_the_endpoint_is_sent_again(
    endpoints: NotifierEndpoints, notifier: Notifier
) -> None:
    replayed = await endpoints.replay(OWNER, MESSAGE)

    assert replayed == {"id": MESSAGE, "is_due": True}
    assert notifier.replayed == [MESSAGE]


async def test_a_message_of_another_endpoint_is_not_there(
    endpoints: NotifierEndpoints, notifier: Notifier
) -> None:
    for endpoint_id, message_id in ((uuid4(), MESSAGE), (OWNER, "msg_2")):
        with pytest.raises(NotFound):
            await endpoints.replay(endpoint_id, message_id)

    assert notifier.replayed == []


async def test_messages_are_requested_in_parts(
    endpoints: NotifierEndpoints, notifier: Notifier
) -> None:
    part = await endpoints.messages(OWNER, {"undelivered_only": True}, Window(20, 40))

    assert notifier.query == {"undelivered_only": "true", "limit": "20", "offset": "40"}
    assert part == Part([{"id": MESSAGE}], 7, has_more=True)


async def test_a_refusal_of_the_notifier_keeps_its_code(
    endpoints: NotifierEndpoints, notifier: Notifier
) -> None:
    bound = Bound(CountedKind.WEBHOOKS, 10)
    with pytest.raises(ApiRefusal) as first:
        await endpoints.order(OWNER, "enable", {"by": "owner"})
    with pytest.raises(ApiRefusal) as again:
        await endpoints.add(OWNER, {}, bound=bound)
    notifier.reason = "full"
    with pytest.raises(ApiRefusal) as full:
        await endpoints.add(OWNER, {}, bound=bound)

    assert first.value.code is again.value.code is ErrorCode.DISABLED_BY_OPERATOR
    assert full.value.code is ErrorCode.LIMIT_REACHED
    assert full.value.metadata == {"limit": "webhooks_per_app", "most": 10}
