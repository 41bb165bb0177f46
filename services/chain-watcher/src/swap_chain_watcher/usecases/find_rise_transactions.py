"""Finds the transactions of rises of coins: hash and sender are published in a later version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.rises import PostgresRises
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.domain.movements import Movement, Place, TrackedMovement
from swap_chain_watcher.domain.watch import Watch
from swap_chains.errors import ChainError
from swap_chains.evm.codec import checksum_address
from swap_chains.evm.wallet_calls import Transaction, coins_sent
from swap_chains.ports import ChainReader, FoundTransaction, Receipt
from swap_runtime.clock import Clock

BATCH_MAX: Final = 50
HINTS_MAX: Final = 500
# As long as hints live, and as long again: a user may name the transaction late.
SEARCH_WINDOW: Final = timedelta(minutes=20)
# Blocks that are read with all their transactions, for one rise.
BLOCKS_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a rise, before a receipt shows that the transaction succeeded."""

    transaction_hash: str
    from_address: str
    base_units: int


@dataclass(frozen=True, slots=True)
class Look:
    """What nodes show for some rises."""

    found: Mapping[UUID, Sequence[Source]]  # by rise
    receipts: Mapping[str, Receipt]  # by transaction
    read: frozenset[Place]  # whose blocks were read

    def choose(self, rise: Movement) -> Source | None:
        """Return the source that succeeded, of several the one that sent most."""
        succeeded = [
            source
            for source in self.found[rise.id]
            if (receipt := self.receipts.get(source.transaction_hash)) is not None
            and receipt.succeeded
            and _first_number(rise) <= receipt.block.number <= rise.block.number
        ]
        return max(succeeded, key=lambda s: (s.base_units, s.transaction_hash), default=None)

    def lacks(self, rise: Movement) -> bool:
        """Whether nodes show a source, and not yet its receipt."""
        return any(one.transaction_hash not in self.receipts for one in self.found[rise.id])


class FindRiseTransactions:
    """Between two streams of a follower, which alone counts the versions of its movements.

    A hint is verified: its transaction must be in the range of the rise and have succeeded. It must
    send coins to the address, directly or by calls that a known wallet's owner signed. Without a
    hint one transaction must send exactly what came: then nothing else can have come beside it.
    Coins that came otherwise, from an exchange's contract perhaps, stay without a transaction.
    """

    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        rises: PostgresRises,
        reader: ChainReader,
        *,
        clock: Clock,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._rises = rises
        self._reader = reader
        self._clock = clock
        self._searched: set[Place] = set()  # of rises whose blocks show no transaction
        self.must_repeat = False  # whether nodes did not answer all of the last look

    async def __call__(self, watch: Watch, *, epoch: int) -> Watch:
        """Return the watch with what was found. Coins are credited with and without it.

        :raises CursorMoved: when the watch is not the stored one.
        :raises NetworkHalted: when the second look has stopped the network meanwhile.
        :raises LeaseLost: when another follows the network now.
        """
        since = watch.cursor.time - SEARCH_WINDOW
        waiting = await self._rises.list_without_transaction(
            watch.network, since=since, limit=BATCH_MAX
        )
        self.must_repeat = bool(waiting)
        if not waiting:
            return watch
        try:
            look = await self._look(waiting, watch.network)
        except ChainError as error:
            observe.rises_unexplained(watch.network, error)
            return watch
        chosen = ((one.movement.id, look.choose(one.movement)) for one in waiting)
        sources = {deposit_id: source for deposit_id, source in chosen if source is not None}
        if sources:
            watch = await self._commit(watch, waiting, sources, epoch=epoch)
        unexplained = [one.movement for one in waiting if one.movement.id not in sources]
        searched = self._searched | look.read
        self._searched = {r.place for r in unexplained if r.place in searched and not look.lacks(r)}
        self.must_repeat = any(look.lacks(r) for r in unexplained)
        return watch

    async def _look(self, waiting: Sequence[TrackedMovement], network: str) -> Look:
        hinted = await self._rises.hinted(network, limit=HINTS_MAX)
        named = (await self._reader.transactions(hinted)).values() if hinted else ()
        found: dict[UUID, Sequence[Source]] = {}
        read: set[Place] = set()
        for rise in (one.movement for one in waiting):
            units = rise.base_units
            found[rise.id] = [s for s in _sources(rise, named) if s.base_units <= units]
            if not found[rise.id] and rise.place not in self._searched:
                found[rise.id] = [s for s in await self._in_blocks(rise) if s.base_units == units]
                read.add(rise.place)
        hashes = {source.transaction_hash for sources in found.values() for source in sources}
        receipts = await self._reader.receipts(hashes) if hashes else {}
        return Look(found, receipts, frozenset(read))

    async def _in_blocks(self, rise: Movement) -> Sequence[Source]:
        lowest = rise.block.number - BLOCKS_MAX + 1
        first = max(lowest, _first_number(rise), 0)
        sent = await self._reader.transactions_between(first=first, last=rise.block)
        return _sources(rise, sent)

    async def _commit(
        self,
        watch: Watch,
        waiting: Sequence[TrackedMovement],
        sources: Mapping[UUID, Source],
        *,
        epoch: int,
    ) -> Watch:
        explained = [
            _explained(one, sources[one.movement.id])
            for one in waiting
            if one.movement.id in sources
        ]
        async with self._unit_of_work() as work:
            await work.lock_cursor(watch, epoch=epoch, subjects=(), senders=())
            await work.explain(watch.network, explained, at=self._clock())
        observe.rises_explained(explained)
        still_open = {one.movement.id: one for one in explained if one.movement.id in watch.open}
        return replace(watch, open={**watch.open, **still_open})


def _first_number(rise: Movement) -> int:
    """Return the lowest block that the rise may be of."""
    return 0 if rise.counted_number is None else rise.counted_number + 1


def _sources(rise: Movement, sent: Iterable[FoundTransaction]) -> list[Source]:
    """Return the transactions in the range of a rise that send coins to its address."""
    numbers = range(_first_number(rise), rise.block.number + 1)
    to_address = rise.to_address.lower()
    return [
        Source(one.transaction_hash, checksum_address(owner), units)
        for one in sent
        if one.block_number is not None and one.block_number in numbers
        for owner, units in coins_sent(
            Transaction(one.from_address, one.to_address, one.value, one.data), to_address
        ).items()
    ]


def _explained(one: TrackedMovement, source: Source) -> TrackedMovement:
    assert one.state is not None
    movement = replace(
        one.movement,
        transaction_hash=source.transaction_hash,
        from_address=source.from_address,
    )
    return replace(one, movement=movement).with_state(one.state)
