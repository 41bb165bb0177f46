from __future__ import annotations

from dataclasses import replace

import pytest

from services.settler.tests.factories import DEADLINE, MINUTE, a_deposit, a_swap
from swap_domain.lifecycle import Status
from swap_settler.model.changes import NOTHING
from swap_settler.model.swap import DepositState, FailReason
from swap_settler.settling.decide.expiry import decide

TOO_LATE = DEADLINE + MINUTE


def test_expires_an_unfunded_swap() -> None:
    change = decide(a_swap(), at=TOO_LATE)

    assert change.swap is not None
    assert (change.swap.status, change.swap.sequence) == (Status.EXPIRED, 2)
    assert change.swap.closed_at == TOO_LATE


def test_swap_with_a_seen_deposit_does_not_expire() -> None:
    assert decide(a_swap().with_deposit(a_deposit("seen")), at=TOO_LATE) is NOTHING


def test_swap_does_not_expire_at_its_deadline() -> None:
    assert decide(a_swap(), at=DEADLINE) is NOTHING


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.DEPOSIT_PENDING])
def test_swap_of_every_other_status_does_not_expire(status: Status) -> None:
    assert decide(replace(a_swap(), status=status), at=TOO_LATE) is NOTHING


def test_fails_a_partly_paid_swap_and_reports_its_money() -> None:
    part = replace(a_deposit("seen", units=5), state=DepositState.CREDITED, is_booked=True)

    change = decide(a_swap().with_deposit(part), at=TOO_LATE)

    assert change.swap is not None
    assert change.swap.fail_reason is FailReason.RECEIVED_LESS
    assert [e.kind for e in change.ledger] == ["claimable"]


def test_expires_a_swap_whose_deposit_a_reorg_took() -> None:
    gone = replace(a_deposit("seen"), state=DepositState.REVERTED)

    change = decide(a_swap().with_deposit(gone), at=TOO_LATE)

    assert change.swap is not None
    assert change.swap.status is Status.EXPIRED
