"""Makes one delivery attempt over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic_ns
from typing import Final

import aiohttp

from swap_notifier.adapters.guard import AddressRefused
from swap_notifier.adapters.signing import signed_headers
from swap_notifier.domain.addresses import NOWHERE_PUBLIC
from swap_notifier.domain.outcomes import ASKS_FOR_TIME, Answer, ClaimedMessage
from swap_notifier.domain.responses import BODY_BYTES_MAX, to_stored_response
from swap_runtime.postgres.database import forbid_open_transaction

# One byte more than is stored shows whether the body was cut.
ANSWER_BYTES_MAX: Final = BODY_BYTES_MAX + 1
ANSWER_SECONDS_MAX: Final = 1
ERROR_LENGTH_MAX: Final = 300
# The same in every attempt. Responses are stored as text, so they should not be compressed.
FIXED_HEADERS: Final = {
    "content-type": "application/json",
    "user-agent": "swap-notifier",
    "accept-encoding": "identity",
}
REPEATED: Final = "svix-"  # headers with this prefix repeat the `webhook-` headers


class HttpSender:
    def __init__(self, connector: aiohttp.TCPConnector, *, timeout: timedelta) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout.total_seconds())
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            headers=FIXED_HEADERS,
        )

    async def close(self) -> None:
        await self._session.close()

    async def send(self, claimed: ClaimedMessage, *, at: datetime) -> Answer:
        """Post the stored bytes. A redirect is not followed: it counts as a failed answer."""
        forbid_open_transaction("webhook")
        began = monotonic_ns()
        headers: dict[str, str] = {}
        try:
            headers = signed_headers(claimed.message_id, claimed.body, claimed.secrets, at=at)
            headers["webhook-event-type"] = claimed.event_type
            async with self._session.post(
                claimed.url,
                data=claimed.body,
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
            ) as response:
                body, is_whole = await _read(response)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            return Answer(
                None,
                _words(error),
                None,
                _milliseconds(began),
                request_headers=_stored_headers(headers),
            )
        header = response.headers.get("retry-after") if response.status in ASKS_FOR_TIME else None
        return Answer(
            response.status,
            None,
            retry_after_of(header, at=at),
            _milliseconds(began),
            request_headers=_stored_headers(headers),
            response=to_stored_response(response.headers.items(), body, is_cut=not is_whole),
        )


async def _read(response: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    """Return the beginning of the body, and whether it is complete.

    A short body is read to its end, so that its connection can be reused. When a response is
    released early, its connection is closed by aiohttp.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            while len(body) < ANSWER_BYTES_MAX and (part := await response.content.readany()):
                body += part
    except (TimeoutError, aiohttp.ClientError):
        response.close()
        return bytes(body), False
    return bytes(body), len(body) < ANSWER_BYTES_MAX


def _stored_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the request headers that are stored; there are none when it could not be signed."""
    varying = {name: value for name, value in headers.items() if not name.startswith(REPEATED)}
    return {**varying, **FIXED_HEADERS} if varying else {}


def retry_after_of(value: str | None, *, at: datetime) -> timedelta | None:
    """Return the pause that a receiver requests, in seconds or as a date."""
    if value is None:
        return None
    # A number may have more digits than Python reads, and a date may be outside Python's range.
    try:
        if value.isascii() and value.isdecimal():
            return timedelta(seconds=min(int(value), 10**6))
        moment = parsedate_to_datetime(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(moment - at, timedelta(0))


def _words(error: Exception) -> str:
    """Return the error as text without NUL, cut: part of it may come from the receiver."""
    is_refused = isinstance(getattr(error, "os_error", None), AddressRefused)
    if is_refused or isinstance(error, aiohttp.ClientConnectorDNSError):
        return NOWHERE_PUBLIC
    return f"{type(error).__name__}: {error}".replace("\0", "")[:ERROR_LENGTH_MAX]


def _milliseconds(began: int) -> int:
    return (monotonic_ns() - began) // 1_000_000
