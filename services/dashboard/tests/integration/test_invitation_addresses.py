"""The api counts requests about invitations by the visitor's address, not by the dashboard's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.dashboard.tests.shop import PASSWORD, Api, Dashboard
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import Database, emptying
from tests.support.serving import post, serve

pytestmark = pytest.mark.connected
VISITOR: Final = "198.51.100.4"
OPERATOR: Final = "10.0.0.8"
FORWARDED_HEADERS: Final = ("authorization", "content-type", "idempotency-key")


class Recorder:
    """Stands in front of the api, and records the client addresses of requests for invitations."""

    def __init__(self, api: Api, client: httpx.AsyncClient) -> None:
        self.requests: list[tuple[str, str | None]] = []
        self._api = api
        self._client = client

    async def forward(self, request: Request) -> Response:
        path = request.url.path
        if "/invitations/" in path:
            name = path.rpartition("/")[2]
            self.requests.append((name, request.headers.get("x-forwarded-for")))
        headers = {
            name: request.headers[name] for name in FORWARDED_HEADERS if name in request.headers
        }
        answer = await self._client.request(
            request.method,
            f"{self._api.url}{path}",
            params=dict(request.query_params),
            content=await request.body(),
            headers=headers,
        )
        return Response(answer.content, answer.status_code, media_type="application/json")


@pytest.fixture
async def recorder(api: Api) -> AsyncIterator[Recorder]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield Recorder(api, client)


@pytest.fixture
async def dashboard(database: Database, api: Api, recorder: Recorder) -> AsyncIterator[Dashboard]:
    route = Route("/{path:path}", recorder.forward, methods=["GET", "POST"])
    async with serve(Starlette(routes=[route])) as url:
        made = Dashboard(database, replace(api, url=url), public_url="http://dashboard.test")
        async with made.service.engine.begin() as connection:
            await connection.execute(sql(emptying("account, membership, session")))
        yield made
        await made.close()


async def test_join_page_and_form_pass_the_visitors_address_to_the_api(
    dashboard: Dashboard, api: Api, recorder: Recorder
) -> None:
    invitation = api.invite(api.an_organization("Shop"))
    browser = dashboard.browser(VISITOR)

    await browser.get(f"/join?invitation={invitation}")
    shown = list(recorder.requests)
    await browser.join(invitation, "ada@shop.example")

    assert shown == [("inspect", VISITOR)]
    assert recorder.requests[1:] == [("inspect", VISITOR), ("accept", VISITOR)]


@pytest.mark.parametrize(
    ("invited", "password"),
    [("ada@shop.example", "short"), ("eve@shop.example", PASSWORD)],
    ids=["password", "another email"],
)
async def test_a_refused_form_reads_its_invitation_once(
    dashboard: Dashboard, api: Api, recorder: Recorder, invited: str, password: str
) -> None:
    organization = api.an_organization("Shop")
    body = {"name": invited, "role": "viewer"}
    invitation = api.order(f"/organizations/{organization}/invitations", body)["token"]
    browser = dashboard.browser(VISITOR)
    await browser.get(f"/join?invitation={invitation}")
    recorder.requests.clear()

    fields = {"invitation": invitation, "email": "ada@shop.example", "password": password}
    refused = await browser.submit("/join", fields, page=f"/join?invitation={invitation}")

    assert refused.status_code == 422
    assert "invites" in refused.text
    assert recorder.requests == [("inspect", VISITOR)] * 2  # the page, then its form


async def test_join_form_of_a_member_passes_the_members_address_to_the_api(
    dashboard: Dashboard, api: Api, recorder: Recorder
) -> None:
    browser = dashboard.browser(VISITOR)
    await browser.join(api.invite(api.an_organization("Shop")), "ada@shop.example")
    recorder.requests.clear()

    second = {"invitation": api.invite(api.an_organization("Second"))}
    joined = await browser.submit("/join", second, page="/account")

    assert joined.status_code == 303
    assert recorder.requests == [("inspect", VISITOR), ("accept", VISITOR)]


async def test_internal_port_passes_the_operators_address_to_the_api(
    dashboard: Dashboard, api: Api, recorder: Recorder
) -> None:
    admin = dashboard.parts.admin
    routes = [post("/accounts", admin.add), post("/memberships", admin.add_membership)]
    transport = httpx.ASGITransport(Starlette(routes=routes), client=(OPERATOR, 1234))
    first, second = [api.invite(api.an_organization(name)) for name in ("Shop", "Second")]
    account = {"invitation": first, "email": "ada@shop.example"}

    async with httpx.AsyncClient(transport=transport, base_url="http://internal.test") as client:
        added = await client.post("/accounts", json={**account, "password": PASSWORD})
        joined = await client.post("/memberships", json={**account, "invitation": second})

    assert (added.status_code, joined.status_code) == (200, 200)
    assert recorder.requests == [("inspect", OPERATOR), ("accept", OPERATOR)] * 2
