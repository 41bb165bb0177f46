"""Coins at deposit addresses: the deposits that follow from a count."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watch_factories import (
    DEPOSIT_ADDRESS,
    GENESIS_TIME,
    NETWORK,
    UNKNOWN_ADDRESS,
    a_block,
    a_policy,
    a_sweep,
)

from swap_chain_watcher.domain.balance_rises import (
    AddressTotals,
    BalanceShortfall,
    LastCount,
    NewRises,
    PublishedRise,
    Rise,
    find_rises,
    swept_addresses,
    to_movements,
)
from swap_chain_watcher.domain.movements import rise_id
from swap_chains.events import BlockAdded
from swap_domain.catalogue import NATIVE

FINAL = 10


def known(risen: int = 0, swept: int = 0, published: tuple[Rise, ...] = ()) -> AddressTotals:
    """Return the totals of an address; its published rises are not final."""
    of_blocks = tuple(PublishedRise(rise, FINAL + 1) for rise in published)
    return AddressTotals(DEPOSIT_ADDRESS, risen, swept, of_blocks)


@pytest.mark.parametrize(
    ("received", "balance", "expected"),
    [
        (known(), 0, ()),
        (known(), 5, (Rise(0, 5),)),
        (known(risen=5), 5, ()),
        (known(risen=5), 8, (Rise(5, 8),)),
        (known(risen=5, swept=5), 0, ()),
        (known(risen=5, swept=5), 5, (Rise(5, 10),)),
        # A reorg removed two rises, and a single block has both now.
        (known(published=(Rise(0, 5), Rise(5, 8))), 8, (Rise(0, 5), Rise(5, 8))),
        (known(published=(Rise(0, 5),)), 9, (Rise(0, 5), Rise(5, 9))),
    ],
)
def test_coins_since_the_last_count_are_a_rise(
    received: AddressTotals, balance: int, expected: tuple[Rise, ...]
) -> None:
    assert find_rises(received, balance, finalized_number=FINAL) == NewRises(expected)


@pytest.mark.parametrize(
    ("received", "balance", "complete"),
    [
        (known(published=(Rise(0, 5),)), 3, ()),
        (known(published=(Rise(0, 5), Rise(5, 8))), 6, (Rise(0, 5),)),
        (known(risen=5, published=(Rise(0, 5), Rise(5, 8))), 7, ()),
    ],
)
def test_rise_that_a_reorg_split_is_incomplete_until_the_rest(
    received: AddressTotals, balance: int, complete: tuple[Rise, ...]
) -> None:
    found = find_rises(received, balance, finalized_number=FINAL)

    assert found == NewRises(complete, is_incomplete=True)


def test_publishes_a_part_once_the_block_of_the_whole_is_final() -> None:
    received = known(published=(Rise(0, 5),))

    found = find_rises(received, 3, finalized_number=FINAL + 1)

    assert found == NewRises((Rise(0, 3),))


def test_rejects_a_node_with_less_than_the_former_total() -> None:
    with pytest.raises(BalanceShortfall, match="lacks 2"):
        find_rises(known(risen=7), 5, finalized_number=FINAL)


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(0, 200), st.booleans())
def test_credited_rises_never_exceed_the_received_coins(
    parts: list[int], more: int, is_final: bool
) -> None:
    published: list[Rise] = []
    for part in parts:
        before = published[-1].upto if published else 0
        published.append(Rise(before, before + part))
    canonical = sum(parts[: len(parts) // 2])
    received = known(risen=canonical, published=tuple(published))

    found = find_rises(received, canonical + more, finalized_number=FINAL + is_final)

    rises, credited = found.rises, sum(rise.upto - rise.before for rise in found.rises)
    assert credited < more if found.is_incomplete else credited == more
    assert [rise.before for rise in rises] == [canonical, *(r.upto for r in rises)][: len(rises)]


def test_a_rise_is_identified_by_its_totals_before_and_after() -> None:
    [one] = to_movements(a_block(3), DEPOSIT_ADDRESS, [Rise(5, 8)], a_policy(), None)

    assert one.id == rise_id(NETWORK, DEPOSIT_ADDRESS, 5, 8)
    assert (one.base_units, one.total_before, one.block) == (3, 5, a_block(3))
    assert (one.transaction_hash, one.from_address) == (None, None)


COUNTED_AT = GENESIS_TIME - timedelta(hours=1)
AFTER_THE_BLOCK = GENESIS_TIME + timedelta(days=1)


@pytest.mark.parametrize(
    ("counted", "number", "came_after"),
    [
        (None, None, None),
        # Absent at the block before: the rise is of this block.
        (LastCount(9, COUNTED_AT), 9, None),
        (LastCount(10, COUNTED_AT), 10, None),
        # Absent some blocks before: it may have arrived in any block since.
        (LastCount(8, COUNTED_AT), 8, COUNTED_AT),
        (LastCount(8, AFTER_THE_BLOCK), 8, a_block(10).time),
        # Never counted: it may have arrived since the address was assigned.
        (LastCount(None, COUNTED_AT), None, COUNTED_AT),
    ],
)
def test_a_rise_has_the_earliest_time_of_its_arrival(
    counted: LastCount | None, number: int | None, came_after: datetime | None
) -> None:
    [one] = to_movements(a_block(10), DEPOSIT_ADDRESS, [Rise(5, 8)], a_policy(), counted)

    assert (one.counted_number, one.came_after) == (number, came_after)


@pytest.mark.parametrize(
    ("number", "ancestor", "remaining"),
    [
        (7, None, LastCount(7, COUNTED_AT)),
        (None, 3, LastCount(None, COUNTED_AT)),
        (7, 8, LastCount(7, COUNTED_AT)),
        (7, 7, LastCount(7, COUNTED_AT)),
        (7, 6, LastCount(6, a_block(6).time)),
    ],
)
def test_a_count_is_as_old_as_the_block_that_a_reorg_leaves(
    number: int | None, ancestor: int | None, remaining: LastCount
) -> None:
    block = None if ancestor is None else a_block(ancestor)

    assert LastCount(number, COUNTED_AT).before(block) == remaining


def test_addresses_whose_coins_were_swept_are_counted_again() -> None:
    coins = a_sweep("coins", token=NATIVE, from_address=DEPOSIT_ADDRESS)
    tokens = a_sweep("tokens", from_address=UNKNOWN_ADDRESS)

    assert swept_addresses([BlockAdded(a_block(1), (coins, tokens))]) == {DEPOSIT_ADDRESS}
