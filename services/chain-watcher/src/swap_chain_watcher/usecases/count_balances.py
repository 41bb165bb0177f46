"""Counts the coins at deposit addresses with each block, and publishes rises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.targets import PostgresTargets
from swap_chain_watcher.adapters.unit_of_work import PostgresWork
from swap_chain_watcher.domain.balance_rises import (
    BalanceShortfall,
    find_rises,
    last_block,
    reverted_to,
    swept_addresses,
    to_movements,
)
from swap_chain_watcher.domain.decide import decide_found
from swap_chain_watcher.domain.deposit_addresses import CountedAddresses, DueAddresses
from swap_chain_watcher.domain.evidence import EvidenceQuery
from swap_chain_watcher.domain.movements import Movement
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.watch import Step, Watch
from swap_chains.errors import ChainError
from swap_chains.events import Block, BlocksFinalized, ChainEvent
from swap_chains.ports import ChainReader, Holding
from swap_domain.catalogue import NATIVE

# Full nodes keep the states of about 128 blocks. So far behind the head more of a catch-up comes.
STATE_HISTORY_MIN: Final = 64


@dataclass(frozen=True, slots=True)
class CountSchedule:
    """How often the coins of an address are counted."""

    young_for: timedelta = timedelta(hours=24)  # with every block
    young_max: int = 10_000  # the newest of them; the others as if they were old
    old_every: timedelta = timedelta(hours=1)
    old_max: int = 200  # with one block


@dataclass(frozen=True, slots=True)
class BalanceCount:
    """What was there at a block."""

    block: Block
    balances: Mapping[str, int]
    changed: frozenset[str]  # with coins that have changed, or may have
    due: DueAddresses
    ancestor: Block | None  # to which the batch took the chain back


class CountBalances:
    """Coins come without a log, also from contracts: only the balance shows them.

    A count belongs to the block at which a batch ends. It is read before the transaction of the
    batch begins, and published within it. So a reader of that cursor has everything up to it.
    """

    def __init__(
        self,
        targets: PostgresTargets,
        reader: ChainReader,
        *,
        policy: Policy,
        count_schedule: CountSchedule,
        watched: AbstractSet[str],
    ) -> None:
        """
        :param watched: the addresses that were taken up, in lower case.
        """
        self._watched = watched
        self._targets = targets
        self._reader = reader
        self._policy = policy
        self._count_schedule = count_schedule
        self._seen: dict[str, int] = {}
        self._incomplete: set[str] = set()  # looked up at each count until their rise is complete
        self.has_new_targets = False

    def forget(self) -> None:
        """Start again: another process may have followed meanwhile."""
        self._seen.clear()

    async def count(
        self, chain_events: Sequence[ChainEvent], *, at: datetime
    ) -> BalanceCount | None:
        """Return what is there at the end of a batch.

        What nodes have forgotten is not counted: a later count finds all that ever came.

        :raises ChainError: when no node answers, and a later query is still possible.
        """
        ancestor = reverted_to(chain_events)
        if ancestor is not None:
            # A published rise may be reverted, and the same amount may return in a later batch.
            self._seen.clear()
        network, block = self._reader.network, last_block(chain_events)
        if block is None:
            return None
        count_schedule = self._count_schedule
        due = await self._targets.load_due(
            network,
            young_since=at - count_schedule.young_for,
            young_max=count_schedule.young_max,
            old_before=at - count_schedule.old_every,
            old_max=count_schedule.old_max,
        )
        self.has_new_targets = due.has_new
        observe.addresses_watched(
            network, len(self._watched), young=len(due.young), young_max=count_schedule.young_max
        )
        # Coins may come and be swept within one block.
        swept = {a for a in swept_addresses(chain_events) if a.lower() in self._watched}
        if not due.addresses and not swept:
            return None
        holdings = {a: Holding(a, NATIVE) for a in swept.union(due.addresses)}
        try:
            held = await self._reader.balances(holdings.values(), at=block)
        except ChainError as error:
            if not _is_final(block, chain_events) and not await self._is_far_behind(block):
                raise
            observe.coins_uncounted(network, block.number, error)
            return None
        balances = {address: held[holding] for address, holding in holdings.items()}
        changed = self._changed_addresses(balances, chain_events)
        return BalanceCount(block, balances, changed, due, ancestor)

    async def record(
        self, work: PostgresWork, watch: Watch, count: BalanceCount, *, at: datetime
    ) -> Step | None:
        """Save and publish rises, after the batch that ends at the counted block."""
        network = watch.network
        self._incomplete.clear()
        found = await self._find(work, watch, count) if count.changed else ()
        due = count.due
        counted = CountedAddresses(
            count.block, due.young_since, due.uncounted, due.old, frozenset(self._incomplete)
        )
        await work.mark_counted(network, counted, at=at)
        if not found:
            return None
        policy = self._policy
        needed = EvidenceQuery.of(policy, watch.open.values(), has_deposits=True, at=at)
        context = await work.load_context(
            network, subjects=[movement.id for movement in found], evidence=needed
        )
        step = decide_found(
            watch, found, policy=policy, known=context.known, evidence=context.evidence
        )
        await work.add_found(step, at=at)
        return step

    async def _find(
        self, work: PostgresWork, watch: Watch, count: BalanceCount
    ) -> Sequence[Movement]:
        found: list[Movement] = []
        for known in await work.find_totals(watch.network, count.changed):
            balance = count.balances[known.address]
            try:
                risen = find_rises(known, balance, finalized_number=watch.finalized_number)
            except BalanceShortfall as error:
                observe.coins_missing(watch.network, error)
                continue
            if risen.is_incomplete:
                self._incomplete.add(known.address)
            counted = known.counted and known.counted.before(count.ancestor)
            found += to_movements(count.block, known.address, risen.rises, self._policy, counted)
        return found

    def store_balances(self, count: BalanceCount) -> None:
        """Record a count as published."""
        self._seen |= count.balances
        for address in self._incomplete:
            self._seen.pop(address, None)

    async def _is_far_behind(self, block: Block) -> bool:
        return (await self._reader.head()).number - block.number > STATE_HISTORY_MIN

    def _changed_addresses(
        self, balances: Mapping[str, int], chain_events: Sequence[ChainEvent]
    ) -> frozenset[str]:
        swept = swept_addresses(chain_events) & balances.keys()
        # Before the first count it is unknown whether more arrived and was swept.
        moved = (a for a, held in balances.items() if held != self._seen.get(a))
        return swept.union(moved)


def _is_final(block: Block, chain_events: Sequence[ChainEvent]) -> bool:
    return any(
        isinstance(event, BlocksFinalized) and event.upto.number >= block.number
        for event in chain_events
    )
