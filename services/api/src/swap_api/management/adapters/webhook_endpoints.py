"""Webhook endpoints over the notifier's internal port, as an operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import aiohttp
import orjson
from pydantic import SecretStr

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.model.refusals import ApiRefusal, Invalid, NotFound
from swap_contracts.public.errors import ErrorCode
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import forbid_open_transaction

ANSWER_SECONDS: Final = 5.0
FULL: Final = "full"  # why the notifier adds no endpoint


class Conflict(Unavailable):
    """The notifier does not do this, as things are."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"notifier: {reason}")
        self.reason = reason


class NotifierEndpoints:
    def __init__(self, url: str | None, token: SecretStr) -> None:
        """
        :param url: where the notifier's internal port is; None where webhooks are not managed.
        """
        self._url = url and f"{url.rstrip('/')}/admin"
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    async def list_all(self, app_id: UUID) -> Sequence[Row]:
        answer = await self._ask("GET", "/endpoints", query={"app_id": str(app_id)})
        endpoints: Sequence[Row] = answer["endpoints"]
        return endpoints

    async def find(self, endpoint_id: UUID) -> Row:
        found: Row = await self._ask("GET", f"/endpoints/{endpoint_id}")
        return found

    async def add(self, app_id: UUID, settings: Row, *, bound: Bound | None) -> Row:
        most = {} if bound is None else {"most": bound.most}
        try:
            added: Row = await self._ask(
                "POST", "/endpoints", body={**settings, **most, "app_id": app_id}
            )
        except Conflict as error:
            if bound is not None and error.reason == FULL:
                raise bound.refusal() from error
            raise _disabled_by_operator() from error
        return added

    async def order(self, endpoint_id: UUID, what: str, details: Row) -> Row:
        try:
            done: Row = await self._ask("POST", f"/endpoints/{endpoint_id}/{what}", body=details)
        except Conflict as error:
            raise _disabled_by_operator() from error
        return done

    async def messages(self, endpoint_id: UUID, filters: Row, window: Window) -> Part:
        place = window.starting_after
        begin = {"offset": window.offset} if place is None else {"after": place}
        wanted = {**filters, "limit": window.limit, **begin}
        query = {name: _text(value) for name, value in wanted.items()}
        try:
            answer = await self._ask("GET", f"/endpoints/{endpoint_id}/messages", query=query)
        except Invalid as error:
            if place is None:
                raise
            # Everything else of the query was parsed before: only the place can be at fault.
            raise Invalid.field("starting_after", "is no place of this list") from error
        rows, total, next = answer["messages"], answer["total"], answer.get("next")
        return Part(rows, total, has_more=answer["has_more"], next=next)

    async def message(self, endpoint_id: UUID, message_id: str) -> Row:
        found: Row = await self._ask("GET", f"/messages/{message_id}")
        if UUID(found["endpoint_id"]) != endpoint_id:
            raise NotFound
        return found

    async def figures(self, app_id: UUID, *, since: datetime) -> Sequence[Row]:
        query = {"app_id": str(app_id), "since": since.isoformat()}
        response = await self._ask("GET", "/figures", query=query)
        figures: Sequence[Row] = response["endpoints"]
        return figures

    async def messages_of_swap(self, app_id: UUID, swap_id: UUID) -> Sequence[Row]:
        query = {"app_id": str(app_id), "swap_id": str(swap_id)}
        response = await self._ask("GET", "/messages", query=query)
        messages: Sequence[Row] = response["messages"]
        return messages

    async def replay(self, endpoint_id: UUID, message_id: str) -> Row:
        await self.message(endpoint_id, message_id)
        replayed: Row = await self._ask("POST", f"/messages/{message_id}/replay")
        return replayed

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Row | None = None,
    ) -> Any:
        """
        :raises ApiRefusal: when the notifier refuses.
        :raises Unavailable: when it is away, too slow, or makes an error.
        """
        if self._url is None:
            raise Unavailable("notifier: its address is not configured")
        forbid_open_transaction("notifier")
        data = None if body is None else orjson.dumps(dict(body))
        try:
            async with self._open_session().request(
                method, self._url + path, params=query, data=data
            ) as response:
                status, content = response.status, orjson.loads(await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Unavailable("notifier") from error
        if status < HTTPStatus.BAD_REQUEST:
            return content
        if status == HTTPStatus.NOT_FOUND:
            raise NotFound
        if status == HTTPStatus.CONFLICT:
            raise Conflict(str(content.get("reason")))
        if status == HTTPStatus.BAD_REQUEST:
            raise Invalid(str(content["error"]))
        raise Unavailable(f"notifier: {status}")

    def _open_session(self) -> aiohttp.ClientSession:
        """Made in the running loop, when it is first needed."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS),
                headers={
                    "content-type": "application/json",
                    "authorization": f"Bearer {self._token.get_secret_value()}",
                },
            )
        return self._session


def _disabled_by_operator() -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.DISABLED_BY_OPERATOR,
        "The operator of this service disabled this endpoint; ask the operator to enable it",
    )


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)
