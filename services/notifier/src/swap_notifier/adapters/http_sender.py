"""Makes one delivery attempt over HTTP."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic_ns
from typing import Final

import aiohttp

from swap_notifier.adapters.guard import AddressRefused
from swap_notifier.adapters.signing import signed_headers
from swap_notifier.domain.addresses import NOWHERE_PUBLIC
from swap_notifier.domain.outcomes import ASKS_FOR_TIME, Answer, Claimed
from swap_runtime.postgres.database import forbid_open_transaction

# What a receiver says beyond its status is of no use to anybody.
ANSWER_BYTES_MAX: Final = 4096
ANSWER_SECONDS_MAX: Final = 1
ERROR_LENGTH_MAX: Final = 300


class HttpSender:
    def __init__(self, connector: aiohttp.TCPConnector, *, timeout: timedelta) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout.total_seconds())
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            headers={"content-type": "application/json", "user-agent": "swap-notifier"},
        )

    async def close(self) -> None:
        await self._session.close()

    async def send(self, claimed: Claimed, *, at: datetime) -> Answer:
        """Post the stored bytes. Redirects are not followed: one is an answer, and a failure."""
        forbid_open_transaction("webhook")
        began = monotonic_ns()
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
                await _read(response)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            return Answer(None, _words(error), None, _milliseconds(began))
        asked = response.headers.get("retry-after") if response.status in ASKS_FOR_TIME else None
        retry_after = retry_after_of(asked, at=at)
        return Answer(response.status, None, retry_after, _milliseconds(began))


async def _read(response: aiohttp.ClientResponse) -> None:
    """Read a short answer, so that its connection can be used again; the status is known already.

    A connection with more to come is closed by aiohttp when the response is let go.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            size = 0
            while size < ANSWER_BYTES_MAX and (part := await response.content.readany()):
                size += len(part)
    except (TimeoutError, aiohttp.ClientError):
        response.close()


def retry_after_of(value: str | None, *, at: datetime) -> timedelta | None:
    """Return the pause that a receiver asks for, in seconds or as a date."""
    if value is None:
        return None
    # A number may have more digits than Python reads, a date be one that no calendar of ours has.
    try:
        if value.isascii() and value.isdecimal():
            return timedelta(seconds=min(int(value), 10**6))
        moment = parsedate_to_datetime(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(moment - at, timedelta(0))


def _words(error: Exception) -> str:
    """Return what went wrong; a receiver may have put anything into it."""
    is_refused = isinstance(getattr(error, "os_error", None), AddressRefused)
    if is_refused or isinstance(error, aiohttp.ClientConnectorDNSError):
        return NOWHERE_PUBLIC
    return f"{type(error).__name__}: {error}".replace("\0", "")[:ERROR_LENGTH_MAX]


def _milliseconds(began: int) -> int:
    return (monotonic_ns() - began) // 1_000_000
