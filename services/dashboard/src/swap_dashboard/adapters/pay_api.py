"""The api over HTTP, as the holder of a pay link."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx

from swap_dashboard.adapters.api_client import data_of, open_client, request, stream_events
from swap_dashboard.pay_ports import Payer, ReadSwap

BASE: Final = "/pay/v1/swaps"
READS_MAX: Final = 200


class HttpPayApi:
    def __init__(self, url: str, *, answer_seconds: float, streams_max: int) -> None:
        """
        :param streams_max: streams have separate connections: open ones block no page.
        """
        self._client = open_client(url, answer_seconds=answer_seconds, connections_max=READS_MAX)
        self._streams = open_client(url, answer_seconds=answer_seconds, connections_max=streams_max)

    async def swap(self, payer: Payer) -> Mapping[str, Any]:
        answer = await self._send("GET", payer)
        swap: Mapping[str, Any] = data_of(answer)
        return swap

    async def read(self, payer: Payer, *, source_address: str, known_tag: str) -> ReadSwap:
        params = {"source_address": source_address} if source_address else {}
        headers = {"If-None-Match": known_tag} if known_tag else {}
        answer = await self._send("GET", payer, params=params, headers=headers)
        tag = answer.headers.get("etag", "")
        if answer.status_code == HTTPStatus.NOT_MODIFIED:
            return ReadSwap(b"", tag, is_unchanged=True)
        data_of(answer)
        return ReadSwap(answer.content, tag)

    async def post(self, payer: Payer, what: str, body: Mapping[str, Any]) -> Any:
        return data_of(await self._send("POST", payer, what, json=dict(body)))

    def events(self, payer: Payer, last_event_id: str) -> AsyncGenerator[bytes, None]:
        path = f"{BASE}/{payer.swap_id}/events"
        return stream_events(self._streams, path, last_event_id, _headers(payer))

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
        all_headers = {**_headers(payer), **(headers or {})}
        return await request(self._client, method, path, headers=all_headers, **options)


def _headers(payer: Payer) -> dict[str, str]:
    """Name the payer's address, by which the api counts requests of links."""
    return {"Authorization": f"Bearer {payer.token}", "X-Forwarded-For": payer.address}
