"""Wakes the followers of the networks of hints."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.domain.hints import HintBackoff
from swap_contracts.deposits import DepositHinted
from swap_contracts.envelope import Envelope


class RecordHints:
    """Any replica accepts a hint; the network's follower reads it from Postgres."""

    def __init__(
        self, unit_of_work: PostgresUnitOfWork, *, networks: Collection[str], backoff: HintBackoff
    ) -> None:
        self._unit_of_work = unit_of_work
        self._backoff = backoff
        self._networks = frozenset(networks)

    async def __call__(self, messages: Sequence[Envelope[DepositHinted]]) -> None:
        async with self._unit_of_work() as work:
            fresh = await work.mark_seen([message.message_id for message in messages])
            new = [
                m for m in messages if m.message_id in fresh and m.body.network in self._networks
            ]
            hints = {(m.body.network, m.body.transaction_hash) for m in new}
            await work.add_hints(hints, backoff=self._backoff)
            await work.notify_followers({network for network, _ in hints})
        for message in new:
            body = message.body
            observe.hint_received(body.network, body.transaction_hash, trace_id=message.trace_id)
