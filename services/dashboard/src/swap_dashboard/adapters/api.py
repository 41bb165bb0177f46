"""The api over HTTP, as a member: its public port and nothing behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID, uuid4

import httpx

from swap_dashboard.adapters.api_client import data_of, open_client, request, stream_events
from swap_dashboard.ports import ApiAnswer, Invitation, MemberToken, NewMembership

BASE: Final = "/management/v1"
CONNECTIONS_MAX: Final = 100
LABEL: Final = "dashboard"


class HttpApi:
    """The api of this deployment."""

    def __init__(self, url: str, *, answer_seconds: float, streams_max: int) -> None:
        """
        :param streams_max: streams have separate connections: open ones block no page.
        """
        base = url.rstrip("/") + BASE
        self._client = open_client(
            base, answer_seconds=answer_seconds, connections_max=CONNECTIONS_MAX
        )
        self._streams = open_client(
            base, answer_seconds=answer_seconds, connections_max=streams_max
        )

    def as_member(self, token: str) -> HttpMemberApi:
        return HttpMemberApi(self._client, self._streams, token)

    async def inspect(self, invitation: str, *, address: str) -> Invitation:
        """Read what an invitation is for, and leave it open.

        :param address: of the client: the api limits the rate of each address.
        :raises ApiRefused: when the invitation is unknown, accepted, revoked or expired.
        :raises ApiUnavailable: when the api does not answer.
        """
        found = await self._post_without_key("/invitations/inspect", {"token": invitation}, address)
        return Invitation(
            organization_name=found["organization"]["name"],
            name=found["name"],
            role=found["role"],
            invited_by=found["invited_by"],
            expires_at=datetime.fromisoformat(found["expires_at"]),
        )

    async def accept(self, invitation: str, *, address: str) -> NewMembership:
        """
        :param address: of the client, as for `inspect`.
        :raises ApiRefused: when the invitation is unknown, accepted, revoked or expired.
        :raises ApiUnavailable: when the api does not answer.
        """
        body = {"token": invitation, "label": LABEL}
        joined = await self._post_without_key("/invitations/accept", body, address)
        member = joined["member"]
        me = (await self.as_member(joined["token"]).get("/me")).data
        return NewMembership(
            id=uuid4(),
            organization_id=UUID(member["organization_id"]),
            organization_name=me["organization"]["name"],
            member_id=UUID(member["id"]),
            token=to_token(joined),
        )

    async def close(self) -> None:
        await self._client.aclose()
        await self._streams.aclose()

    async def _post_without_key(self, path: str, body: Mapping[str, Any], address: str) -> Any:
        """Name the client's address: without a key, the api counts requests by it."""
        headers = {"X-Forwarded-For": address}
        return (await send(self._client, "POST", path, json=dict(body), headers=headers)).data


class HttpMemberApi:
    def __init__(self, client: httpx.AsyncClient, streams: httpx.AsyncClient, token: str) -> None:
        self._client = client
        self._streams = streams
        self._headers = {"Authorization": f"Bearer {token}"}

    async def get(self, path: str, query: Mapping[str, Any] | None = None) -> ApiAnswer:
        params = without_empty(query)
        return await send(self._client, "GET", path, params=params, headers=self._headers)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> ApiAnswer:
        headers = {**self._headers, "Idempotency-Key": str(uuid4())}
        return await send(self._client, "POST", path, json=dict(body or {}), headers=headers)

    def stream(
        self, path: str, last_event_id: str, query: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[bytes, None]:
        return stream_events(
            self._streams, path, last_event_id, self._headers, without_empty(query)
        )


def without_empty(query: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters that have a value."""
    return {name: value for name, value in (query or {}).items() if value not in (None, "")}


def to_token(row: Mapping[str, Any]) -> MemberToken:
    """Read a new access token, which is shown this once."""
    return MemberToken(row["token"], UUID(row["id"]), datetime.fromisoformat(row["expires_at"]))


async def send(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> ApiAnswer:
    """
    :raises ApiRefused: when the api refuses.
    :raises ApiUnavailable: when it does not answer, or cannot now.
    """
    answer = await request(client, method, path, **options)
    data = data_of(answer)
    total = answer.headers.get("x-total-count")
    following = answer.links.get("next", {}).get("url", "")
    place = dict(parse_qsl(urlsplit(following).query)).get("starting_after", "")
    return ApiAnswer(data, int(total) if total else None, bool(following), place)
