"""How a consumer takes what has come, and says now and then how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from time import monotonic
from typing import Any, Final

import structlog
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

from swap_runtime.telemetry.metrics import counter

RECORDS_MAX: Final = 500
POLL_MS: Final = 200  # how late a stop may be noticed
AT_ONCE_SECONDS: Final = 0.001  # a poll that is answered sooner did not wait for anything
POLL_MORE_MS: Final = 5
COMMIT_SECONDS: Final = 1.0

COMMIT_FAILURES: Final = counter("offset_commit_failures", "Commits of offsets that Kafka refused")
log = structlog.get_logger()


class Polling:
    """One consumer's polls. What it returned is handled, or sought back, before the next.

    Offsets are committed when nothing has come, and once a second while something does. They say
    where to begin after a stop or a rebalance, and nothing else: what is read again then is marked
    already, so nobody needs to wait for them after each batch.
    """

    def __init__(self) -> None:
        self._committed_at = monotonic()
        self._has_uncommitted = False  # whether something was taken since
        self._has_failed_commit = False

    async def poll(self, client: Any) -> tuple[Any, ...]:
        """Return what has come, as soon as it comes; nothing after a while without any.

        aiokafka fetches ahead once, the first few that came after the last poll, and no more until
        they are taken. What was there already is therefore followed by what has come since.

        While a batch is handled nothing further is fetched. After a tenth of a second aiokafka
        would ask without the partitions that have something to take, and these, once it is taken,
        would wait for that request, which waits for news of the others.
        """
        if self._has_uncommitted and monotonic() - self._committed_at > COMMIT_SECONDS:
            await self._commit(client)
        client.resume(*client.paused())
        records = await _poll_records(client)
        if records:
            client.pause(*client.assignment())
            self._has_uncommitted = True
        elif self._has_uncommitted and not self._has_failed_commit:
            await self._commit(client)
        return tuple(records)

    async def _commit(self, client: Any) -> None:
        self._committed_at = monotonic()
        try:
            await client.commit()
            self._has_uncommitted = self._has_failed_commit = False
        except KafkaError as error:
            self._has_failed_commit = True  # and tried again after a while
            COMMIT_FAILURES.inc()
            log.warning("offsets not committed", error=f"{type(error).__name__}: {error}")


async def _poll_records(client: Any) -> Sequence[Any]:
    began = monotonic()
    polled = await client.getmany(timeout_ms=POLL_MS, max_records=RECORDS_MAX)
    records = list(chain.from_iterable(polled.values()))
    is_behind = monotonic() - began < AT_ONCE_SECONDS
    while records and is_behind and len(records) < RECORDS_MAX:
        polled = await _poll_more(client, limit=RECORDS_MAX - len(records))
        records += chain.from_iterable(polled.values())
        is_behind = bool(polled)
    return records


async def _poll_more(client: Any, *, limit: int) -> Mapping[Any, Sequence[Any]]:
    """Return what else is there; nothing when this poll fails, for what was taken is not lost."""
    try:
        polled: Mapping[Any, Sequence[Any]] = await client.getmany(
            timeout_ms=POLL_MORE_MS, max_records=limit
        )
    except KafkaError:
        return {}
    return polled
