"""Bytes that are stored and in no block yet are sent again, the same ones."""

from __future__ import annotations

from datetime import timedelta

from swap_chains.ports import ChainSender
from swap_settler.paying import observe
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.mark_sent import MarkSent


class Rebroadcast:
    """Send again what a crash, a lost answer or a dropped pool may have kept from the chain."""

    def __init__(
        self,
        *,
        sender: ChainSender,
        store: PostgresLaneStore,
        mark_sent: MarkSent,
        older_than: timedelta,
        limit: int = 100,
    ) -> None:
        self._sender = sender
        self._store = store
        self._mark_sent = mark_sent
        self._older_than = older_than
        self._limit = limit

    async def __call__(self) -> int:
        """Send the lowest nonces first and return how many transactions were sent again.

        :raises ChainUnavailable: when no node answers.
        """
        waiting = await self._store.find_unmined(older_than=self._older_than, limit=self._limit)
        if waiting:
            answers = await self._sender.broadcast(waiting)
            observe.rebroadcast(self._sender.network, len(waiting))
            await self._mark_sent.record_results(self._sender.network, answers)
        return len(waiting)
