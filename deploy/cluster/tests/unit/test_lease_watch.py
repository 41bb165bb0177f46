"""A handover counts as a release only if the lease had not expired."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from deploy.cluster.tests.cluster.lease_watch import Holding, LeaseWatch

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STACK = {"postgres": {"auditor_url": "postgresql://nowhere"}}


def holding(holder: str, seen: float, *, until: float | None = None) -> Holding:
    expires_at = None if until is None else NOON + timedelta(seconds=until)
    return Holding(holder, expires_at, NOON + timedelta(seconds=seen))


def handovers(*seen: Holding) -> list[bool]:
    watch = LeaseWatch(STACK)
    for each in seen:
        watch.note("settler/lane", each)
    return [handover.was_released for handover in watch.handovers]


def test_lease_without_a_holder_was_released() -> None:
    assert handovers(holding("a", 0, until=10), holding("", 1), holding("b", 12, until=22)) == [
        True
    ]


def test_lease_acquired_before_its_expiry_was_released() -> None:
    assert handovers(holding("a", 0, until=10), holding("b", 1, until=11)) == [True]


def test_lease_acquired_after_its_expiry_was_not_released() -> None:
    assert handovers(holding("a", 0, until=10), holding("b", 10.1, until=20)) == [False]


def test_renewal_is_no_handover() -> None:
    assert handovers(holding("a", 0, until=10), holding("a", 4, until=14)) == []
