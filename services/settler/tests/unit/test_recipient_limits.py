from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from swap_settler.paying.decide.lane import (
    RECIPIENT_REVERTS_MAX,
    Payment,
    Retries,
    within_recipient_limits,
)

RETRIES = Retries(attempts_max=5, pause=timedelta(0), dwell=timedelta(hours=2))


def a_payment(number: int, **changes: object) -> Payment:
    payment = Payment(UUID(int=number), None, number, "native", "recipient", 1, 0, goes_alone=True)
    return replace(payment, **changes)  # type: ignore[arg-type]


def left(payments: list[Payment], unproven: dict[str, int] | None = None) -> list[int]:
    return [payment.paid_id for payment in within_recipient_limits(payments, unproven or {})]


@pytest.mark.fault("A9")
@pytest.mark.parametrize(
    ("failures", "reverts", "is_over"), [(4, 1, False), (5, 0, True), (2, 2, True)]
)
def test_a9_what_costs_gas_is_tried_less_often(
    failures: int, reverts: int, *, is_over: bool
) -> None:
    no_time = timedelta(0)
    assert RETRIES.is_over(failures, reverts=reverts, in_slot_for=no_time) is is_over


@pytest.mark.fault("A9")
def test_a9_no_more_payments_to_a_recipient_leave_than_may_revert() -> None:
    payments = [a_payment(number) for number in range(RECIPIENT_REVERTS_MAX + 2)]

    assert left(payments) == list(range(RECIPIENT_REVERTS_MAX))
    assert left(payments, {"recipient": RECIPIENT_REVERTS_MAX - 1}) == [0]
    assert left([replace(one, recipient_reverts=3) for one in payments]) == [0]


@pytest.mark.fault("A9")
def test_a9_another_recipient_and_payments_that_share_a_transaction_do_not_count() -> None:
    full = {"recipient": RECIPIENT_REVERTS_MAX}

    assert left([a_payment(1, to_address="another")], full) == [1]
    assert left([a_payment(1, goes_alone=False)], full) == [1]
    assert left([a_payment(1, call_data=b"a deposit")], full) == [1]
