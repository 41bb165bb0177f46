"""Finds the transactions of rises of coins: hash and sender are published in a later version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

BATCH_MAX: Final = 200
HINTS_MAX: Final = 500
# Twice the time for which hints are stored: a user may name the transaction late.
SEARCH_WINDOW: Final = timedelta(minutes=20)
# Blocks that are read with all their transactions, for one rise: they fit into one response.
BLOCKS_MAX: Final = 32
# After so long a search reads no further blocks: no deposit of the network is credited meanwhile.
SEARCH_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a rise, before a receipt shows that the transaction succeeded."""

    transaction_hash: str
    from_address: str
    base_units: int


@dataclass(slots=True)
class Answers:
    """What nodes have answered about some rises."""

    sources: dict[UUID, list[Source]]  # by rise
    read_places: set[Place]  # of rises whose blocks were read
    receipts: Mapping[str, Receipt]  # by transaction

    def choose(self, rise: Movement) -> Source | None:
        """Return the source that succeeded, of several the one that sent most.

        One that sent less than the rise is chosen only when no other can be found.
        """
        succeeded = [
            source
            for source in self.sources[rise.id]
            if (receipt := self._receipt(rise, source)) is not None and receipt.succeeded
            if source.base_units == rise.base_units or self.is_complete(rise)
        ]
        return max(succeeded, key=lambda s: (s.base_units, s.transaction_hash), default=None)

    def is_complete(self, rise: Movement) -> bool:
        """Whether a later search of the same blocks would find nothing else."""
        sources = self.sources[rise.id]
        return rise.place in self.read_places and all(self._receipt(rise, s) for s in sources)

    def _receipt(self, rise: Movement, source: Source) -> Receipt | None:
        """Return the receipt in a block of the rise: another branch of the chain proves nothing."""
        receipt = self.receipts.get(source.transaction_hash)
        return receipt if receipt and receipt.block.number in _numbers(rise) else None


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
        self._unanswered: set[Place] = set()  # of rises whose blocks nodes did not show
        self.incomplete_searches = 0  # in a row

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
        if not waiting:
            self.incomplete_searches = 0
            return watch
        hinted = await self._rises.find_hinted(watch.network, limit=HINTS_MAX)
        answers = await self._search([one.movement for one in waiting], hinted)
        chosen = ((one.movement.id, answers.choose(one.movement)) for one in waiting)
        sources = {deposit_id: source for deposit_id, source in chosen if source is not None}
        if sources:
            watch = await self._commit(watch, waiting, sources, epoch=epoch)
        unexplained = [one.movement for one in waiting if one.movement.id not in sources]
        self._searched = {rise.place for rise in unexplained if answers.is_complete(rise)}
        is_complete = len(self._searched) == len(unexplained)
        self.incomplete_searches = 0 if is_complete else self.incomplete_searches + 1
        return watch

    async def _search(self, rises: Sequence[Movement], hinted: Sequence[str]) -> Answers:
        """Return what nodes answer: some may answer one question and not another."""
        answers = Answers({rise.id: [] for rise in rises}, set(self._searched), {})
        with self._logging_errors():
            await self._search_hinted(answers, rises, hinted)
        await self._search_blocks(answers, rises)
        with self._logging_errors():
            hashes = {s.transaction_hash for found in answers.sources.values() for s in found}
            answers.receipts = await self._reader.receipts(hashes) if hashes else {}
        return answers

    async def _search_hinted(
        self, answers: Answers, rises: Sequence[Movement], hinted: Sequence[str]
    ) -> None:
        named = (await self._reader.transactions(hinted)).values() if hinted else ()
        for rise in rises:
            answers.sources[rise.id] += [
                one for one in _sources(rise, named) if one.base_units <= rise.base_units
            ]

    async def _search_blocks(self, answers: Answers, rises: Sequence[Movement]) -> None:
        """Read the blocks of each rise once; those that no node showed come last the next time."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + SEARCH_SECONDS
        unread = [rise for rise in rises if rise.place not in answers.read_places]
        unread.sort(key=lambda rise: rise.place in self._unanswered)
        self._unanswered.clear()
        sent: dict[tuple[int, str], Sequence[FoundTransaction]] = {}  # rises may share their blocks
        for rise in unread:
            first = max(rise.block.number - BLOCKS_MAX + 1, _numbers(rise).start)
            key = first, rise.block.hash
            if loop.time() < ends_at and key not in sent:
                with self._logging_errors():
                    sent[key] = await self._reader.transactions_between(
                        first=first, last=rise.block
                    )
                if key not in sent:
                    self._unanswered.add(rise.place)
            if key in sent:
                answers.sources[rise.id] += [
                    one for one in _sources(rise, sent[key]) if one.base_units == rise.base_units
                ]
                answers.read_places.add(rise.place)

    @contextmanager
    def _logging_errors(self) -> Iterator[None]:
        try:
            yield
        except ChainError as error:
            observe.rises_unexplained(self._reader.network, error)

    async def _commit(
        self,
        watch: Watch,
        waiting: Sequence[TrackedMovement],
        sources: Mapping[UUID, Source],
        *,
        epoch: int,
    ) -> Watch:
        explained = [
            _with_source(one, sources[one.movement.id])
            for one in waiting
            if one.movement.id in sources
        ]
        async with self._unit_of_work() as work:
            await work.lock_cursor(watch, epoch=epoch, subjects=(), senders=())
            await work.explain(watch.network, explained, at=self._clock())
        observe.rises_explained(explained)
        still_open = {one.movement.id: one for one in explained if one.movement.id in watch.open}
        return replace(watch, open={**watch.open, **still_open})


def _numbers(rise: Movement) -> range:
    """Return the numbers of the blocks that the rise may be of."""
    first = 0 if rise.counted_number is None else rise.counted_number + 1
    return range(first, rise.block.number + 1)


def _sources(rise: Movement, sent: Iterable[FoundTransaction]) -> Iterator[Source]:
    """Return the transactions in the blocks of a rise that send coins to its address."""
    to_address = rise.to_address.lower()
    for one in sent:
        if one.block_number in _numbers(rise):
            call = Transaction(one.from_address, one.to_address, one.value, one.data)
            for owner, units in coins_sent(call, to_address).items():
                yield Source(one.transaction_hash, checksum_address(owner), units)


def _with_source(one: TrackedMovement, source: Source) -> TrackedMovement:
    assert one.state is not None
    movement = replace(
        one.movement,
        transaction_hash=source.transaction_hash,
        from_address=source.from_address,
    )
    return replace(one, movement=movement).with_state(one.state)
