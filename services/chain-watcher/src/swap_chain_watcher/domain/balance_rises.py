"""Coins at deposit addresses: they have no log, so balances are counted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from swap_chain_watcher.domain.movements import Kind, Movement, rise_id
from swap_chain_watcher.domain.policy import Policy
from swap_chains.events import Block, BlockAdded, BlocksReverted, ChainEvent, Swept
from swap_domain.catalogue import NATIVE


@dataclass(frozen=True, slots=True)
class Rise:
    """What came to an address between two counts, as totals of all that ever came."""

    before: int
    upto: int


@dataclass(frozen=True, slots=True)
class PublishedRise:
    """A rise that was published, perhaps of a block that a reorg took."""

    rise: Rise
    block_number: int  # the highest block in which it was counted


@dataclass(frozen=True, slots=True)
class LastCount:
    """The last block at which the coins of an address were counted."""

    number: int | None  # None: never, and the time is that of its assignment
    time: datetime

    def before(self, ancestor: Block | None) -> LastCount:
        """Return what remains of it behind a reorg down to this block."""
        if ancestor is None or self.number is None or self.number <= ancestor.number:
            return self
        return LastCount(ancestor.number, ancestor.time)


@dataclass(frozen=True, slots=True)
class AddressTotals:
    """The stored state of the canonical chain about the coins of one address."""

    address: str
    risen_base_units: int
    swept_base_units: int
    published: tuple[PublishedRise, ...] = ()
    counted: LastCount | None = None


@dataclass(frozen=True, slots=True)
class NewRises:
    """What a count publishes."""

    rises: tuple[Rise, ...] = ()
    is_incomplete: bool = False  # part of a rise came again; the rest may follow


class BalanceShortfall(Exception):
    """Less is there than ever came and was not swept: a node is wrong, or a sweep is unheard."""

    def __init__(self, address: str, missing_base_units: int) -> None:
        super().__init__(f"{address} lacks {missing_base_units}")
        self.address = address


def find_rises(known: AddressTotals, balance: int, *, finalized_number: int) -> NewRises:
    """Return what has come since the last count.

    A rise that was published before is published again separately, once it is complete. Coins that
    are mined again after a reorg, at another height or in several blocks, are the same deposit. A
    part of it alone would be a second deposit. It is published when the block of the rise is final:
    transactions that are not mined again by then were most likely replaced.

    :raises BalanceShortfall: when the balance contradicts what is known.
    """
    total = balance + known.swept_base_units
    if total < known.risen_base_units:
        raise BalanceShortfall(known.address, known.risen_base_units - total)
    found: list[Rise] = []
    at = known.risen_base_units
    while at < total:
        before = [one for one in known.published if one.rise.before == at]
        complete = [one.rise.upto for one in before if one.rise.upto <= total]
        if not complete and any(one.block_number > finalized_number for one in before):
            return NewRises(tuple(found), is_incomplete=True)
        found.append(Rise(at, max(complete, default=total)))
        at = found[-1].upto
    return NewRises(tuple(found))


def to_movements(
    block: Block, address: str, risen: Iterable[Rise], policy: Policy, counted: LastCount | None
) -> Sequence[Movement]:
    """Return the rises as movements of the block at which they were counted.

    :param counted: the count before, which did not have them.
    """
    network = policy.network.name
    number = None if counted is None else counted.number
    is_exact = number is not None and number + 1 >= block.number
    came_after = None if counted is None or is_exact else min(counted.time, block.time)
    return [
        Movement(
            id=rise_id(network, address, rise.before, rise.upto),
            network=network,
            block=block,
            kind=Kind.BALANCE_ROSE,
            transaction_hash=None,
            token=NATIVE,
            from_address=None,
            to_address=address,
            base_units=rise.upto - rise.before,
            total_before=rise.before,
            counted_number=number,
            came_after=came_after,
        )
        for rise in risen
    ]


def last_block(chain_events: Sequence[ChainEvent]) -> Block | None:
    """Return the block at which a batch leaves the chain; None where it only takes back."""
    added = [event.block for event in chain_events if isinstance(event, BlockAdded)]
    return added[-1] if added else None


def reverted_to(chain_events: Iterable[ChainEvent]) -> Block | None:
    """Return the lowest block to which a batch takes the chain back; None where it does not."""
    ancestors = [event.ancestor for event in chain_events if isinstance(event, BlocksReverted)]
    return min(ancestors, key=lambda block: block.number, default=None)


def swept_addresses(chain_events: Iterable[ChainEvent]) -> frozenset[str]:
    """Return from where a batch swept coins: its balance may be as before, and more have come."""
    return frozenset(
        fact.from_address
        for event in chain_events
        if isinstance(event, BlockAdded)
        for fact in event.movements
        if isinstance(fact, Swept) and fact.token == NATIVE
    )
