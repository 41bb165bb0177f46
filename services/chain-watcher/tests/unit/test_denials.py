"""Rises that providers deny at a final block: the number of votes, and the reverted rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from watch_factories import DEPOSIT_ADDRESS, NETWORK, UNKNOWN_ADDRESS, a_block, a_policy

from swap_chain_watcher.domain.balance_rises import Rise, to_movements
from swap_chain_watcher.domain.denials import (
    Denial,
    RisesDenied,
    find_denials,
    find_disproved,
)
from swap_chain_watcher.domain.movements import Movement, TrackedMovement

BLOCK = replace(a_block(5), provider="first")


def a_rise(before: int, upto: int, address: str = DEPOSIT_ADDRESS) -> Movement:
    [movement] = to_movements(BLOCK, address, [Rise(before, upto)], a_policy(), None)
    return movement


class TestFindDenials:
    @pytest.mark.parametrize(
        ("totals", "denied_by", "reported_by"),
        [
            ({"first": 7, "second": 8}, ("first",), ("second",)),
            ({"first": 8, "second": 0}, ("second",), ("first",)),
            ({"first": 5, "second": 7}, ("first", "second"), ()),
            ({"only": 0}, ("only",), ()),
            ({"first": 0, "second": 0, "third": 8}, ("first", "second"), ("third",)),
        ],
    )
    def test_names_who_denies_a_rise_and_who_reports_it(
        self, totals: dict[str, int], denied_by: tuple[str, ...], reported_by: tuple[str, ...]
    ) -> None:
        rise = a_rise(5, 8)

        found = find_denials([rise], {name: {rise.to_address: n} for name, n in totals.items()})

        assert found == [Denial(rise, denied_by, reported_by)]

    @pytest.mark.parametrize(
        "totals",
        [
            {"first": 8, "second": 8},
            {"first": 9, "second": 100},
            {"first": 0, "second": 8, "third": 8},  # two reports against one
            {},
        ],
    )
    def test_excludes_movements_that_are_undenied_or_reported_twice(
        self, totals: dict[str, int]
    ) -> None:
        rise = a_rise(5, 8)

        found = find_denials([rise], {name: {rise.to_address: n} for name, n in totals.items()})

        assert found == []

    def test_continues_after_a_rise_that_two_providers_report(self) -> None:
        reported, denied = a_rise(0, 5), a_rise(0, 5, UNKNOWN_ADDRESS)
        totals = {DEPOSIT_ADDRESS: 5, UNKNOWN_ADDRESS: 4}

        found = find_denials([reported, denied], {"first": totals, "second": totals})

        assert [one.movement for one in found] == [denied]


class TestFindDisproved:
    def test_takes_the_rises_of_the_address_that_were_counted_on_top(self) -> None:
        rises = [a_rise(0, 5), a_rise(5, 8), a_rise(8, 9), a_rise(0, 100, UNKNOWN_ADDRESS)]
        published = [TrackedMovement(rise) for rise in rises]

        found = find_disproved(published, [Denial(rises[1], ("first", "second"), ())])

        assert [tracked.movement for tracked in found] == rises[1:3]

    @pytest.mark.parametrize("order", [(1, 2), (2, 1)])
    def test_begins_at_the_lowest_of_several(self, order: tuple[int, ...]) -> None:
        rises = [a_rise(0, 5), a_rise(5, 8), a_rise(8, 9)]
        denials = [Denial(rises[index], ("first", "second"), ()) for index in order]

        found = find_disproved([TrackedMovement(rise) for rise in rises], denials)

        assert [tracked.movement for tracked in found] == rises[1:]

    def test_needs_two_providers(self) -> None:
        rise = a_rise(0, 5)

        assert find_disproved([TrackedMovement(rise)], [Denial(rise, ("first",), ())]) == []


class TestRisesDenied:
    def test_names_the_published_log_and_the_denying_provider(self) -> None:
        rise = a_rise(5, 8)
        denials = [Denial(rise, ("second", "fourth"), ("third", "first"))]

        error = RisesDenied(NETWORK, denials)

        assert str(error) == (
            f"{NETWORK}: at a final block 1 of the published rises of coins are denied, first 3 "
            f"base units at {DEPOSIT_ADDRESS} in block 5: first reported by first, still reported "
            "by first, third, denied by fourth, second"
        )
        assert (error.network, error.denials) == (NETWORK, tuple(denials))

    def test_names_no_provider_when_none_reports_it_any_more(self) -> None:
        assert Denial(a_rise(5, 8), ("second",), ()).positions == "denied by second"
