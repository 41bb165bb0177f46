"""Stores one batch of a network's facts: blocks, movements, messages and cursor in one commit."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.domain.decide import decide
from swap_chain_watcher.domain.evidence import EvidenceQuery
from swap_chain_watcher.domain.movement_mapping import senders, subjects
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.watch import Watch
from swap_chain_watcher.usecases.count_balances import CountBalances
from swap_chains.events import ChainEvent
from swap_runtime.clock import Clock


class AdvanceWatch:
    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        *,
        policy: Policy,
        clock: Clock,
        count_balances: CountBalances | None = None,
    ) -> None:
        """
        :param count_balances: None where a network has no deposit addresses.
        """
        self._unit_of_work = unit_of_work
        self._policy = policy
        self._clock = clock
        self._count_balances = count_balances
        self.has_new_rises = False  # whether the last batch found coins without a known transaction

    @property
    def has_new_targets(self) -> bool:
        """Whether the last batch found deposit addresses that are not followed yet."""
        return self._count_balances is not None and self._count_balances.has_new_targets

    def forget(self) -> None:
        """Drop what is in memory: another process may have followed meanwhile."""
        if self._count_balances is not None:
            self._count_balances.forget()

    async def __call__(
        self, watch: Watch, chain_events: Sequence[ChainEvent], *, epoch: int
    ) -> Watch:
        """Return the watch as of the end of the batch.

        :raises ChainError: when no node returns the balances of deposit addresses.
        :raises BrokenChain: when the facts do not follow from the watch.
        :raises ReorgBeyondFinality: when they revert a final block.
        :raises CursorMoved: when the watch is not the stored one.
        :raises NetworkHalted: when the second look has stopped the network meanwhile.
        :raises LeaseLost: when another follows the network now.
        """
        self.has_new_rises = False
        if not watch.has_new_events(chain_events):
            return watch
        coins = self._count_balances
        count = await coins.count(chain_events, at=self._clock()) if coins else None
        touched = subjects(watch.network, chain_events)
        query = EvidenceQuery.of(
            self._policy, watch.open.values(), has_deposits=bool(touched), at=self._clock()
        )
        async with self._unit_of_work() as work:
            known, targets, evidence = await work.lock_cursor(
                watch, epoch=epoch, subjects=touched, senders=senders(chain_events), evidence=query
            )
            step = decide(
                watch,
                chain_events,
                policy=self._policy,
                known=known,
                targets=targets,
                evidence=evidence,
            )
            now = self._clock()
            await work.advance(step, at=now)
            risen = None
            if coins and count:
                risen = await coins.record(work, step.after, count, at=now)
        observe.watch_advanced(step, at=now)
        if coins and count:
            coins.store_balances(count)
        self.has_new_rises = risen is not None
        if risen is None:
            return step.after
        observe.movements_stored(risen, at=now)
        return risen.after
