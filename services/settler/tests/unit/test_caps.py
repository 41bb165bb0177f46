"""Payments under a cap: the oldest are sent first, and none exceeds the cap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import pytest

from services.settler.tests.factories import ETHEREUM, NOON, RECIPIENT, USDC
from swap_settler.paying.decide.caps import (
    Admission,
    Cap,
    CapRequest,
    WithheldPayment,
    admit,
    beyond_limit,
    queue_length,
    withheld_payment,
)
from swap_settler.paying.decide.lane import Payment

TOKEN, DOLLARS = 1, 2  # two caps
SECOND: Final = timedelta(seconds=1)


def request_of(n: int, *, has_pass: bool = False, **amounts: int | None) -> CapRequest:
    """Return a payment of an age, with the amounts that it counts under the named caps."""
    by_cap = {{"token": TOKEN, "dollars": DOLLARS}[name]: units for name, units in amounts.items()}
    return CapRequest(UUID(int=n), NOON + n * SECOND, by_cap, has_pass)


def cap(id: int, units: int | None, *, spent: int = 0, first: int | None = None) -> Cap:
    place = None if first is None else (NOON + first * SECOND, UUID(int=first))
    return Cap(id, units, spent, place)


def among(payments: Sequence[CapRequest], *caps: Cap) -> Admission:
    return admit(payments, {one.id: one for one in caps})


def ids(*numbers: int) -> set[UUID]:
    return {UUID(int=n) for n in numbers}


def by(**waits: Sequence[int]) -> Mapping[UUID, frozenset[int]]:
    return {UUID(int=int(name[1:])): frozenset(caps) for name, caps in waits.items()}


class TestACap:
    @pytest.mark.parametrize(
        ("units", "spent", "amount", "leaves"),
        [
            (100, 0, 100, True),
            (100, 0, 101, False),
            (100, 40, 60, True),
            (100, 40, 61, False),
            (None, 10**9, 10**9, True),  # lifted
            (None, 0, None, True),
            (100, 0, None, False),  # without a price
            (0, 0, 0, True),
        ],
    )
    def test_lets_leave_up_to_its_units_in_a_span(
        self, units: int | None, spent: int, amount: int | None, *, leaves: bool
    ) -> None:
        admission = among([request_of(1, token=amount)], cap(TOKEN, units, spent=spent))

        assert admission.leave == (ids(1) if leaves else set())
        assert admission.refused_by == ({} if leaves else by(_1=[TOKEN]))

    def test_counts_what_leaves_with_the_same_batch(self) -> None:
        admission = among(
            [request_of(1, token=60), request_of(2, token=60)], cap(TOKEN, 100, spent=10)
        )

        assert (admission.leave, admission.refused_by) == (ids(1), by(_2=[TOKEN]))
        assert admission.spent == {TOKEN: 60}

    def test_counts_all_that_leaves_with_the_same_batch(self) -> None:
        admission = among([request_of(n, token=40) for n in (1, 2, 3)], cap(TOKEN, 100))

        assert (admission.leave, admission.spent) == (ids(1, 2), {TOKEN: 80})

    def test_lets_the_oldest_go_first_and_the_younger_of_one_moment_by_id(self) -> None:
        same_time = CapRequest(UUID(int=9), NOON + SECOND, {TOKEN: 60}, has_pass=False)

        admission = among(
            [same_time, request_of(2, token=60), request_of(1, token=60)], cap(TOKEN, 60)
        )

        assert admission.leave == ids(1)

    def test_is_closed_behind_one_that_waits_also_for_less(self) -> None:
        admission = among(
            [request_of(1, token=80), request_of(2, token=1)], cap(TOKEN, 100, spent=50)
        )

        assert (admission.leave, admission.refused_by) == (set(), by(_1=[TOKEN], _2=[TOKEN]))

    @pytest.mark.parametrize("amount", [101, None])
    def test_is_not_held_up_by_what_can_never_fit(self, amount: int | None) -> None:
        admission = among([request_of(1, token=amount), request_of(2, token=100)], cap(TOKEN, 100))

        assert (admission.leave, admission.refused_by) == (ids(2), by(_1=[TOKEN]))

    def test_of_exactly_its_units_may_fit_later_and_keeps_its_place(self) -> None:
        admission = among(
            [request_of(1, token=100), request_of(2, token=1)], cap(TOKEN, 100, spent=1)
        )

        assert admission.leave == set()

    @pytest.mark.parametrize(
        ("first", "leaves"),
        [(1, False), (2, True), (3, True), (None, True)],
        ids=["an older one waits", "it is the first", "a younger one waits", "the line is empty"],
    )
    def test_serves_its_line_first(self, first: int | None, *, leaves: bool) -> None:
        admission = among([request_of(2, token=1)], cap(TOKEN, 100, first=first))

        assert admission.leave == (ids(2) if leaves else set())

    def test_that_was_lifted_has_no_line(self) -> None:
        assert among([request_of(2, token=1)], cap(TOKEN, None, first=1)).leave == ids(2)


class TestTwoCaps:
    def test_both_must_have_room_and_the_refusing_one_is_named(self) -> None:
        caps = cap(TOKEN, 100), cap(DOLLARS, 10)

        admission = among([request_of(1, token=50, dollars=11)], *caps)

        assert (admission.leave, admission.refused_by) == (set(), by(_1=[DOLLARS]))
        assert not sum(admission.spent.values())

    def test_both_are_named_where_both_refuse(self) -> None:
        admission = among([request_of(1, token=101, dollars=11)], cap(TOKEN, 100), cap(DOLLARS, 10))

        assert admission.refused_by == by(_1=[TOKEN, DOLLARS])

    def test_a_line_closes_only_the_cap_it_waits_for(self) -> None:
        caps = cap(TOKEN, 100, spent=90), cap(DOLLARS, 10)
        first, second = request_of(1, token=50, dollars=1), request_of(2, dollars=5)

        admission = among([first, second], *caps)

        assert (admission.leave, admission.spent[DOLLARS]) == (ids(2), 5)

    def test_each_stays_closed_behind_its_own_line(self) -> None:
        caps = cap(TOKEN, 100, spent=90), cap(DOLLARS, 10, spent=9)
        lines = [request_of(1, token=50), request_of(2, dollars=5)]

        admission = among([*lines, request_of(3, token=1), request_of(4, dollars=1)], *caps)

        assert admission.leave == set()

    def test_a_line_closes_its_cap_for_those_of_other_caps_too(self) -> None:
        caps = cap(TOKEN, 100, spent=90), cap(DOLLARS, 10)

        admission = among([request_of(1, token=50), request_of(2, token=1, dollars=1)], *caps)

        assert admission.refused_by[UUID(int=2)] == {TOKEN}


class TestWhatAnOperatorLetThrough:
    def test_leaves_beyond_every_cap_and_counts(self) -> None:
        through = request_of(1, token=500, has_pass=True)

        admission = among([through, request_of(2, token=1)], cap(TOKEN, 100))

        assert (admission.leave, admission.refused_by) == (ids(1), by(_2=[TOKEN]))
        assert admission.spent == {TOKEN: 500}

    def test_without_a_price_does_not_count_in_the_cap(self) -> None:
        through = request_of(1, dollars=None, has_pass=True)

        assert among([through, request_of(2, dollars=10)], cap(DOLLARS, 10)).leave == ids(1, 2)


def payment(n: int, units: int, *, is_queued: bool = False, is_too_large: bool = False) -> Payment:
    return Payment(
        intent_id=UUID(int=n),
        swap_id=None,
        paid_id=n,
        token=USDC[ETHEREUM],
        to_address=RECIPIENT,
        base_units=units,
        failures=0,
        goes_alone=False,
        created_at=NOON + n * SECOND,
        is_queued=is_queued,
        is_too_large=is_too_large,
    )


def refused(
    *payments: Payment, available: int = 100, capacity: int = 1000, queue_length_max: int = 10
) -> list[int]:
    withheld = beyond_limit(
        payments, available=available, capacity=capacity, queue_length_max=queue_length_max
    )
    return [one.paid_id for one in withheld]


class TestTheTreasurysLimit:
    @pytest.mark.parametrize(
        ("units", "waiting"),
        [
            ([100], []),
            ([101], [1]),
            ([60, 40], []),
            ([60, 41], [2]),
            ([60, 41, 1], [2, 3]),  # no later one is admitted first
            ([1000, 1], [1, 2]),
            ([1001, 1], [1]),  # a payment above the limit delays no other
            ([1001, 60, 41, 1], [1, 3, 4]),
        ],
    )
    def test_pays_the_oldest_first_up_to_what_is_available(
        self, units: list[int], waiting: list[int]
    ) -> None:
        payments = [payment(n, one) for n, one in enumerate(units, 1)]

        assert refused(*payments) == waiting
        assert refused(*reversed(payments)) == waiting

    def test_lets_a_newcomer_join_only_where_the_whole_line_is_looked_at(self) -> None:
        line = [payment(1, 10, is_queued=True), payment(2, 10, is_queued=True)]

        assert refused(*line, payment(3, 10), queue_length_max=3) == []
        assert refused(*line, payment(3, 10), queue_length_max=2) == [3]
        assert refused(*line, queue_length_max=2) == []

    def test_does_not_spend_what_is_available_on_one_that_may_not_join(self) -> None:
        new_payment, waits = payment(1, 100), payment(2, 100, is_queued=True)

        assert refused(new_payment, waits, queue_length_max=1) == [1]

    def test_the_too_large_wait_beside_the_line(self) -> None:
        line = [
            payment(1, 10, is_queued=True),
            payment(2, 10),
            payment(3, 5000, is_queued=True, is_too_large=True),
        ]

        assert queue_length(line) == 1

    @pytest.mark.parametrize(
        ("units", "stood", "was_too_large", "expected"),
        [
            (1000, False, False, (False, True)),  # it is queued
            (1000, True, False, (False, False)),
            (1001, True, False, (True, True)),  # the limit was lowered
            (1001, True, True, (True, False)),
            (1000, True, True, (False, True)),  # the limit was raised
            (1001, False, False, (True, True)),
        ],
    )
    def test_reports_a_payment_that_changes_its_queue(
        self, units: int, stood: bool, was_too_large: bool, expected: tuple[bool, bool]
    ) -> None:
        one = payment(1, units, is_queued=stood, is_too_large=was_too_large)

        assert withheld_payment(one, capacity=1000) == WithheldPayment(
            UUID(int=1), units, *expected
        )
