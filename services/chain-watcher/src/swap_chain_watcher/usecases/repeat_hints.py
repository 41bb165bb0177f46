from __future__ import annotations

from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.domain.hints import HintBackoff

BATCH_MAX = 500


class RepeatHints:
    """Hurry the followers again where a hinted transaction has not been seen yet.

    Any replica may: each hint is due at one of them, and the follower reads it from Postgres.
    """

    def __init__(self, unit_of_work: PostgresUnitOfWork, *, backoff: HintBackoff) -> None:
        self._unit_of_work = unit_of_work
        self._backoff = backoff

    async def __call__(self) -> None:
        async with self._unit_of_work() as work:
            networks = await work.repeat_hints(backoff=self._backoff, limit=BATCH_MAX)
            await work.notify_followers(networks)
