"""The api over HTTP, as a member: its public port and nothing behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

import httpx
import orjson

from swap_dashboard import observe
from swap_dashboard.ports import Answered, ApiAway, ApiRefused, MemberToken, NewMembership
from swap_runtime.postgres.database import forbid_open_transaction

BASE: Final = "/management/v1"
UNAVAILABLE: Final = 500  # from here on the api cannot, whoever asks
LABEL: Final = "dashboard"


class HttpApi:
    def __init__(self, url: str, *, answer_seconds: float) -> None:
        limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)
        self._client = httpx.AsyncClient(
            base_url=url,
            timeout=httpx.Timeout(answer_seconds, pool=answer_seconds),
            limits=limits,
            follow_redirects=False,
            trust_env=False,
        )

    def as_member(self, token: str) -> HttpMemberApi:
        return HttpMemberApi(self._client, token)

    async def accept(self, invitation: str) -> NewMembership:
        body = {"token": invitation, "label": LABEL}
        joined = (await send(self._client, "POST", "/invitations/accept", json=body)).data
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


class HttpMemberApi:
    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    async def get(self, path: str, query: Mapping[str, Any] | None = None) -> Answered:
        params = {name: value for name, value in (query or {}).items() if value not in (None, "")}
        return await send(self._client, "GET", path, params=params, headers=self._headers)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Answered:
        headers = {**self._headers, "Idempotency-Key": str(uuid4())}
        return await send(self._client, "POST", path, json=dict(body or {}), headers=headers)

    async def stream(self, path: str, last_event_id: str) -> AsyncIterator[bytes]:
        headers = {
            **self._headers,
            "Accept": "text/event-stream",
            "Last-Event-ID": last_event_id,
        }
        try:
            async with self._client.stream("GET", BASE + path, headers=headers) as answer:
                if answer.is_error:
                    await answer.aread()
                    data_of(answer)
                async for piece in answer.aiter_raw():
                    yield piece
        except httpx.HTTPError as error:
            observe.api_away(path, error)
            raise ApiAway(type(error).__name__) from error


def to_token(row: Mapping[str, Any]) -> MemberToken:
    """Read a new access token, which is shown this once."""
    return MemberToken(row["token"], UUID(row["id"]), datetime.fromisoformat(row["expires_at"]))


async def send(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> Answered:
    """
    :raises ApiRefused: when the api refuses.
    :raises ApiAway: when it does not answer, or cannot now.
    """
    forbid_open_transaction("the api")
    try:
        answer = await client.request(method, BASE + path, **options)
    except httpx.HTTPError as error:
        observe.api_away(path, error)
        raise ApiAway(type(error).__name__) from error
    data = data_of(answer)
    total = answer.headers.get("x-total-count")
    has_more = 'rel="next"' in answer.headers.get("link", "")
    return Answered(data, int(total) if total else None, has_more)


def data_of(answer: httpx.Response) -> Any:
    """
    :raises ApiRefused: when the answer is a refusal.
    :raises ApiAway: when the api cannot answer now.
    """
    try:
        content = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        raise ApiAway(f"the api answered {answer.status_code} and no JSON") from None
    error = content.get("error")
    if error is None:
        return content.get("data")
    if answer.status_code >= UNAVAILABLE:
        raise ApiAway(str(error["code"]))
    raise ApiRefused(answer.status_code, error["code"], error["message"], error["metadata"])
