"""Keeps the deposit addresses that the settler assigned."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.domain.deposit_addresses import Target
from swap_contracts.deposits import DepositTargetAssigned
from swap_contracts.envelope import Envelope


class RecordTargets:
    def __init__(self, unit_of_work: PostgresUnitOfWork) -> None:
        self._unit_of_work = unit_of_work

    async def __call__(self, messages: Sequence[Envelope[DepositTargetAssigned]]) -> None:
        async with self._unit_of_work() as work:
            fresh = await work.mark_seen([message.message_id for message in messages])
            new = [message for message in messages if message.message_id in fresh]
            bodies = [message.body for message in new]
            await work.add_targets([Target(b.network, b.address, b.since) for b in bodies])
            await work.notify_followers({body.network for body in bodies})
        for message in new:
            body = message.body
            observe.target_assigned(body.network, body.address, trace_id=message.trace_id)
