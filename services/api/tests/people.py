"""Organizations with members, for tests of the management API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx
from api_harness import Harness
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from swap_api.model.members import OPERATOR, Role
from swap_runtime.operators.admin_routes import Handler
from swap_runtime.operators.identities import Operator
from swap_runtime.operators.identities import Role as OperatorRole
from tests.support.serving import client_of

BASE = "/management/v1"


@dataclass(frozen=True, slots=True)
class Person:
    """A member with an access token."""

    id: str
    organization_id: str
    token: str
    api: Harness

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        return await self.ask("POST", path, json=body or {})

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return await self.api.client.request(method, BASE + path, headers=headers, **options)

    async def post_ok(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a POST and return the created object."""
        answer = await self.post(path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def an_app(self, environment: str = "test") -> str:
        path = f"/organizations/{self.organization_id}/apps"
        return str((await self.post_ok(path, {"name": "web", "environment": environment}))["id"])


async def an_owner(api: Harness, name: str = "Shop") -> Person:
    organization = await api.parts.management.manage_partners.add_organization(name)
    return await join(api, str(organization["id"]), Role.OWNER)


async def a_colleague(person: Person, role: Role) -> Person:
    path = f"/organizations/{person.organization_id}/invitations"
    invited = await person.post_ok(path, {"name": role.value, "role": role.value})
    return await accept(person.api, invited["token"])


async def join(api: Harness, organization_id: str, role: Role) -> Person:
    """Have the operator invite a member."""
    issued = await api.parts.management.manage_members.invite(
        organization_id,  # type: ignore[arg-type]
        name=role.value,
        role=role,
        actor=OPERATOR,
    )
    return await accept(api, issued.token)


async def accept(api: Harness, token: str) -> Person:
    answer = await api.client.post(f"{BASE}/invitations/accept", json={"token": token})
    assert answer.status_code == 200, answer.text
    joined = answer.json()["data"]
    member = joined["member"]
    return Person(member["id"], member["organization_id"], joined["token"], api)


@asynccontextmanager
async def an_operators_client(
    api: Harness,
) -> AsyncIterator[aiohttp.ClientSession]:
    """Serve the management API of operators, with Ada as the sender of every request."""

    def as_ada(handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            request.state.operator = Operator("ada", OperatorRole.OPERATOR)
            return await handler(request)

        return handle

    routes = [
        Route(path, as_ada(handler), methods=[method])
        for method, path, handler in api.parts.operator_routes.routes()
    ]
    async with client_of(*routes) as client:
        yield client
