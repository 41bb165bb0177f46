"""Requests to the api over HTTP, with its failures as errors of the dashboard."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

import httpx
import orjson

from swap_dashboard import observe
from swap_dashboard.ports import ApiRefused, ApiUnavailable
from swap_runtime.postgres.database import forbid_open_transaction

UNAVAILABLE: Final = 500  # from here on the api is unavailable for all callers
IDLE_MAX: Final = 20  # connections that are kept


def open_client(url: str, *, answer_seconds: float, connections_max: int) -> httpx.AsyncClient:
    """Return a client with the same time limit for a connection as for an answer."""
    return httpx.AsyncClient(
        base_url=url,
        timeout=httpx.Timeout(answer_seconds, pool=answer_seconds),
        limits=httpx.Limits(max_connections=connections_max, max_keepalive_connections=IDLE_MAX),
        follow_redirects=False,
        trust_env=False,
    )


async def request(
    client: httpx.AsyncClient, method: str, path: str, **options: Any
) -> httpx.Response:
    """
    :raises ApiUnavailable: when the api does not answer.
    """
    forbid_open_transaction("the api")
    try:
        return await client.request(method, path, **options)
    except httpx.HTTPError as error:
        raise _unavailable(path, type(error).__name__) from error


async def stream_events(
    client: httpx.AsyncClient,
    path: str,
    last_event_id: str,
    headers: Mapping[str, str],
    params: Mapping[str, Any] | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield server-sent events as they come.

    :raises ApiRefused: when the api refuses.
    :raises ApiUnavailable: when it does not answer, or ends in the middle.
    """
    all_headers = {**headers, "Accept": "text/event-stream", "Last-Event-ID": last_event_id}
    try:
        async with client.stream("GET", path, headers=all_headers, params=params) as answer:
            if answer.is_error:
                await answer.aread()
                data_of(answer)
            async for piece in answer.aiter_raw():
                yield piece
    except httpx.HTTPError as error:
        raise _unavailable(path, type(error).__name__) from error


def data_of(answer: httpx.Response) -> Any:
    """
    :raises ApiRefused: when the answer is a refusal.
    :raises ApiUnavailable: when the api cannot answer now.
    """
    try:
        content = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        raise _unavailable(answer.url.path, f"{answer.status_code} and no JSON") from None
    error = content.get("error")
    if error is None:
        return content.get("data")
    if answer.status_code >= UNAVAILABLE:
        raise _unavailable(answer.url.path, str(error["code"]))
    raise ApiRefused(answer.status_code, error["code"], error["message"], error["metadata"])


def _unavailable(path: str, reason: str) -> ApiUnavailable:
    observe.api_unavailable(path, reason)
    return ApiUnavailable(reason)
