"""How waiting payments are assigned to nonces: grouped, limited, and retried."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from services.settler.tests.factories import ETHEREUM, RECIPIENT, USDC, USER
from swap_domain.catalogue import NATIVE
from swap_settler.paying.decide.lane import (
    BATCH_BASE_GAS,
    RECIPIENT_REVERTS_MAX,
    REVERTS_MAX,
    GasAlarm,
    GasUnits,
    Payment,
    Retries,
    group_payments,
    one_permit_each,
    with_margin,
    within_recipient_limits,
)

MINUTE = timedelta(minutes=1)
PERMIT = b"\xaa\xbb"
TOKEN = USDC[ETHEREUM]


def payment(n: int, token: str = TOKEN, *, alone: bool = False, to: str = RECIPIENT) -> Payment:
    return Payment(
        intent_id=UUID(int=n),
        swap_id=None,
        paid_id=n,
        token=token,
        to_address=to,
        base_units=1,
        failures=0,
        goes_alone=alone,
    )


def relay(n: int, *, payer: str = USER, token: str = TOKEN, call: bytes = PERMIT) -> Payment:
    return replace(payment(n, token, alone=True), payer=payer, call_data=call + bytes([n]))


class TestGroups:
    @pytest.mark.parametrize(
        ("payments", "groups"),
        [
            ([], []),
            ([payment(1)], [[1]]),
            ([payment(1), payment(2), payment(3)], [[1, 2], [3]]),
            ([payment(1), payment(2, NATIVE), payment(3)], [[1, 3], [2]]),
            ([payment(1, NATIVE), payment(2), payment(3, NATIVE)], [[1, 3], [2]]),
            ([payment(1), payment(2, alone=True), payment(3)], [[1, 3], [2]]),
            ([payment(1, alone=True), payment(2), payment(3)], [[1], [2, 3]]),
            ([payment(n) for n in range(1, 9)], [[1, 2], [3, 4], [5, 6]]),
            ([payment(n, alone=True) for n in range(1, 5)], [[1], [2], [3]]),
            ([payment(3), payment(2, alone=True), payment(1)], [[3, 1], [2]]),
        ],
    )
    def test_are_of_one_token_and_the_longest_waiting_goes_first(
        self, payments: list[Payment], groups: list[list[int]]
    ) -> None:
        slots = group_payments(payments, slots_max=3, payments_max=2)

        assert [[one.paid_id for one in group] for group in slots] == groups

    def test_take_gas_for_each_payment_by_its_kind_and_a_margin(self) -> None:
        units = GasUnits(pay_native=1_000, pay_erc20=2_000)
        group = [payment(1, NATIVE), payment(2), payment(3)]

        assert units.of(group, native=NATIVE) == BATCH_BASE_GAS + 5_000 * 130 // 100
        assert with_margin(10) == 13
        assert with_margin(3) == 3  # part of a unit is nothing


class TestPermits:
    def test_of_one_signer_for_one_token_go_one_by_one(self) -> None:
        payments = [
            relay(1),
            relay(2),
            relay(3, payer=RECIPIENT),
            relay(4, token=NATIVE),
            payment(5),
            payment(6),
            relay(7, call=b"\x01"),  # no permit: it has a separate nonce
            relay(8, call=b"\x01"),
        ]

        selected = one_permit_each(payments, permit=PERMIT)

        assert [one.paid_id for one in selected] == [1, 3, 4, 5, 6, 7, 8]


class TestRecipients:
    @pytest.mark.parametrize(
        ("reverts", "unproven", "leaving"),
        [
            (0, 0, [1, 2, 3, 4]),
            (0, 1, [1, 2, 3]),
            (0, RECIPIENT_REVERTS_MAX, []),
            (RECIPIENT_REVERTS_MAX - 1, 0, [1]),
            (1, 1, [1, 2]),
            (RECIPIENT_REVERTS_MAX, 0, []),
        ],
    )
    def test_get_no_more_payments_than_may_revert(
        self, reverts: int, unproven: int, leaving: list[int]
    ) -> None:
        payments = [replace(payment(n, alone=True), recipient_reverts=reverts) for n in range(1, 6)]

        allowed = within_recipient_limits(payments, {RECIPIENT: unproven})

        assert [one.paid_id for one in allowed] == leaving

    def test_that_revert_block_only_their_own_separate_payments(self) -> None:
        full = {RECIPIENT: RECIPIENT_REVERTS_MAX}
        payments = [
            payment(1, alone=True),
            payment(2, alone=True, to=USER),
            payment(3),
            relay(4),
        ]

        allowed = within_recipient_limits(payments, full)

        assert [one.paid_id for one in allowed] == [2, 3, 4]
        assert full == {RECIPIENT: RECIPIENT_REVERTS_MAX}


class TestRetries:
    RETRIES = Retries(attempts_max=5, pause=MINUTE, dwell=60 * MINUTE)

    @pytest.mark.parametrize(
        ("failures", "minutes"), [(1, 1), (2, 2), (3, 4), (7, 64), (8, 64), (100, 64)]
    )
    def test_wait_twice_as_long_each_time_up_to_a_bound(self, failures: int, minutes: int) -> None:
        assert self.RETRIES.pause_after(failures) == minutes * MINUTE

    @pytest.mark.parametrize(
        ("failures", "reverts", "minutes", "is_over"),
        [
            (4, 0, 0, False),
            (5, 0, 0, True),
            (6, 0, 0, True),
            (0, REVERTS_MAX - 1, 0, False),
            (0, REVERTS_MAX, 0, True),
            (0, 0, 59, False),
            (0, 0, 60, True),
        ],
    )
    def test_end_by_failures_by_reverts_or_by_time(
        self, failures: int, reverts: int, minutes: int, *, is_over: bool
    ) -> None:
        decision = self.RETRIES.is_over(failures, reverts=reverts, in_slot_for=minutes * MINUTE)

        assert decision is is_over

    def test_count_no_reverts_by_default(self) -> None:
        once = replace(self.RETRIES, attempts_max=9)

        assert not once.is_over(1, in_slot_for=timedelta(0))


@pytest.mark.parametrize(("balance", "left"), [(99, 0), (100, 1), (250, 2)])
def test_gas_money_is_counted_in_whole_payments(balance: int, left: int) -> None:
    assert GasAlarm(100, 1).payments_left(balance) == left
    assert GasAlarm(0, 1).payments_left(balance) == balance
    assert GasAlarm(1, 1).payments_left(balance) == balance
