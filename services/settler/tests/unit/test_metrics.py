"""Values of the settler's metrics that a statement or a lane determines."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from services.settler.tests.factories import a_swap
from swap_domain.lifecycle import Status
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.model import observe_changes
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import Changes
from swap_settler.model.swap import FailReason
from swap_settler.paying import observe as observe_paying
from swap_settler.paying.decide.lane import GasAlarm

REASON = FailReason.INSUFFICIENT_LIQUIDITY


def unsuccessful() -> float:
    labels = {"reason": REASON.value}
    return REGISTRY.get_sample_value("swap_settler_swaps_unsuccessful_total", labels) or 0


@pytest.mark.parametrize(
    ("previous", "status", "counted"),
    [
        (Status.PAYOUT_PENDING, Status.REFUND_PENDING, 1),
        (Status.DEPOSIT_PENDING, Status.FAILED, 1),
        (Status.FAILED, Status.REFUND_PENDING, 0),
        (Status.REFUND_PENDING, Status.FAILED, 0),
        (Status.REFUND_PENDING, Status.REFUNDED, 0),
        (Status.PAYOUT_PENDING, Status.COMPLETED, 0),
    ],
)
def test_a_swap_without_its_output_counts_once(
    previous: Status, status: Status, counted: int
) -> None:
    before = unsuccessful()
    swap = replace(a_swap(), status=status, fail_reason=REASON)

    observe_changes.changes_committed(
        [Changes(swap=swap, previous_status=previous, cause=ChangeCause.REQUOTED)]
    )

    assert unsuccessful() == before + counted


def test_a_lane_that_ended_leaves_no_gauges() -> None:
    """Another process has the lane's lease then: an old value here would hide or raise alarms."""
    signer = {"network": "here", "signer": "0x1"}
    observe_paying.signer_gas("here", "0x1", 10, GasAlarm(1, payments_min=50))
    observe_paying.oldest_unpaid("here", timedelta(hours=1))

    observe_paying.lane_ended("here", "0x1")
    observe_paying.lane_ended("here", "0x1")  # one that never measured

    assert REGISTRY.get_sample_value("swap_settler_signer_payments_left", signer) is None
    unpaid = REGISTRY.get_sample_value("swap_settler_oldest_unpaid_seconds", {"network": "here"})
    assert unpaid is None
