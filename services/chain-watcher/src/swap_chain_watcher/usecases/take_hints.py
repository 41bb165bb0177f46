"""Hurries the followers of the networks where somebody says that we were paid."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.ports import UnitOfWork
from swap_contracts.deposits import DepositHinted
from swap_contracts.envelope import Envelope


class TakeHints:
    """Any replica takes a hint; the one that follows the network hears of it through Postgres."""

    def __init__(self, unit_of_work: UnitOfWork, *, networks: Collection[str]) -> None:
        self._unit_of_work = unit_of_work
        self._networks = frozenset(networks)

    async def __call__(self, messages: Sequence[Envelope[DepositHinted]]) -> None:
        async with self._unit_of_work() as work:
            fresh = await work.mark_seen([message.message_id for message in messages])
            bodies = [message.body for message in messages if message.message_id in fresh]
            await work.hurry({body.network for body in bodies} & self._networks)
        for body in bodies:
            if body.network in self._networks:
                observe.hinted(body.network, body.transaction_hash)
