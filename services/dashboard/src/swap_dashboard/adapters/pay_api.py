"""The api over HTTP, as the holder of a pay link."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx

from swap_dashboard import observe
from swap_dashboard.adapters.api import data_of
from swap_dashboard.pay_ports import Payer, Read
from swap_dashboard.ports import ApiAway

BASE: Final = "/pay/v1/swaps"
READS_MAX: Final = 200


class HttpPayApi:
    def __init__(self, url: str, *, answer_seconds: float, streams_max: int) -> None:
        """
        :param streams_max: streams have connections of their own: open ones block no page.
        """
        self._client = _client(url, answer_seconds, READS_MAX)
        self._streams = _client(url, answer_seconds, streams_max)

    async def swap(self, payer: Payer) -> Mapping[str, Any]:
        answer = await self._send("GET", payer)
        swap: Mapping[str, Any] = data_of(answer)
        return swap

    async def read(self, payer: Payer, *, source_address: str, known_tag: str) -> Read:
        params = {"source_address": source_address} if source_address else {}
        headers = {"If-None-Match": known_tag} if known_tag else {}
        answer = await self._send("GET", payer, params=params, headers=headers)
        tag = answer.headers.get("etag", "")
        if answer.status_code == HTTPStatus.NOT_MODIFIED:
            return Read(b"", tag, is_unchanged=True)
        data_of(answer)
        return Read(answer.content, tag)

    async def post(self, payer: Payer, what: str, body: Mapping[str, Any]) -> Any:
        return data_of(await self._send("POST", payer, what, json=dict(body)))

    async def events(self, payer: Payer, last_event_id: str) -> AsyncGenerator[bytes, None]:
        headers = {
            **_headers(payer),
            "Accept": "text/event-stream",
            "Last-Event-ID": last_event_id,
        }
        path = f"{BASE}/{payer.swap_id}/events"
        try:
            async with self._streams.stream("GET", path, headers=headers) as answer:
                if answer.is_error:
                    await answer.aread()
                    data_of(answer)
                async for piece in answer.aiter_raw():
                    yield piece
        except httpx.HTTPError as error:
            observe.api_away(path, error)
            raise ApiAway(type(error).__name__) from error

    async def close(self) -> None:
        await self._client.aclose()
        await self._streams.aclose()

    async def _send(
        self,
        method: str,
        payer: Payer,
        what: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> httpx.Response:
        path = f"{BASE}/{payer.swap_id}" + (f"/{what}" if what else "")
        every = {**_headers(payer), **(headers or {})}
        try:
            return await self._client.request(method, path, headers=every, **options)
        except httpx.HTTPError as error:
            observe.api_away(path, error)
            raise ApiAway(type(error).__name__) from error


def _client(url: str, answer_seconds: float, connections_max: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=url,
        timeout=httpx.Timeout(answer_seconds, pool=answer_seconds),
        limits=httpx.Limits(max_connections=connections_max, max_keepalive_connections=20),
        follow_redirects=False,
        trust_env=False,
    )


def _headers(payer: Payer) -> dict[str, str]:
    """Name the payer's address, by which the api counts requests of links."""
    return {"Authorization": f"Bearer {payer.token}", "X-Forwarded-For": payer.address}
