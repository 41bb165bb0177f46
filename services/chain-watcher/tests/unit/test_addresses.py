"""Coins at deposit addresses: what a count says has come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watch_factories import DEPOSIT_ADDRESS, NETWORK, a_block, a_policy

from swap_chain_watcher.domain.addresses import Received, Rise, Shrunk, rises, to_movements
from swap_chain_watcher.domain.movements import rise_id


def known(risen: int = 0, swept: int = 0, told: tuple[Rise, ...] = ()) -> Received:
    return Received(DEPOSIT_ADDRESS, risen, swept, told)


@pytest.mark.parametrize(
    ("received", "balance", "expected"),
    [
        (known(), 0, ()),
        (known(), 5, (Rise(0, 5),)),
        (known(risen=5), 5, ()),
        (known(risen=5), 8, (Rise(5, 8),)),
        (known(risen=5, swept=5), 0, ()),
        (known(risen=5, swept=5), 5, (Rise(5, 10),)),
        # A reorg took two rises, and a single block has both now.
        (known(told=(Rise(0, 5), Rise(5, 8))), 8, (Rise(0, 5), Rise(5, 8))),
        (known(told=(Rise(0, 5),)), 9, (Rise(0, 5), Rise(5, 9))),
        # It mined less than was told: another deposit.
        (known(told=(Rise(0, 5),)), 3, (Rise(0, 3),)),
        # The latest word about where a rise ends counts.
        (known(told=(Rise(0, 8), Rise(0, 5))), 8, (Rise(0, 5), Rise(5, 8))),
    ],
)
def test_tells_what_has_come_since_the_last_count(
    received: Received, balance: int, expected: tuple[Rise, ...]
) -> None:
    assert rises(received, balance) == expected


def test_believes_no_node_that_shows_less_than_ever_came() -> None:
    with pytest.raises(Shrunk, match="lacks 2"):
        rises(known(risen=7), 5)


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(0, 200))
def test_never_credits_more_than_came(parts: list[int], more: int) -> None:
    told: list[Rise] = []
    for part in parts:
        before = told[-1].upto if told else 0
        told.append(Rise(before, before + part))
    kept = sum(parts[: len(parts) // 2])

    found = rises(known(risen=kept, told=tuple(told)), kept + more)

    assert sum(rise.upto - rise.before for rise in found) == more
    assert [rise.before for rise in found] == [kept, *(rise.upto for rise in found)][: len(found)]


def test_a_rise_is_named_by_what_came_before_and_with_it() -> None:
    [one] = to_movements(a_block(3), DEPOSIT_ADDRESS, [Rise(5, 8)], a_policy())

    assert one.id == rise_id(NETWORK, DEPOSIT_ADDRESS, 5, 8)
    assert (one.base_units, one.total_before, one.block) == (3, 5, a_block(3))
    assert (one.transaction_hash, one.from_address) == (None, None)
