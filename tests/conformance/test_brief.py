"""Swaps that have expired."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.conformance.brief import Brief

rule = pytest.mark.rule
pytestmark = pytest.mark.late


@rule("3.1", "expired")
@rule("8", "expiry")
def test_an_unpaid_swap_expires(brief: Brief) -> None:
    swap = brief.expired["swap"]

    assert swap["status"] == "expired"
    assert swap["transactions"] == []
    lived = [datetime.fromisoformat(swap[name]) for name in ("created_date", "close_date")]
    assert lived[0] < lived[1]


@rule("D2", "expired-hidden")
def test_a_list_hides_expired_swaps_unless_requested(brief: Brief) -> None:
    swap_id = brief.expired["swap"]["id"]

    assert brief.list_ids() == []
    assert brief.list_ids(include_expired="true") == [swap_id]
    assert brief.list_ids(statuses="expired") == [swap_id]
    assert brief.list_ids(statuses=["Expired", "completed"]) == [swap_id]


@rule("D2", "nothing-to-do")
def test_expired_swap_has_no_required_actions(brief: Brief) -> None:
    path = f"/api/v2/swaps/{brief.expired['swap']['id']}/deposit_actions"
    steps = brief.target.get(path, "[DepositActionsItem]", key="brief")

    assert {step["status"] for step in steps} <= {"expired"}
    assert brief.expired["deposit_actions"] == []


@rule("8", "until-the-deadline")
def test_a_signature_is_never_valid_beyond_the_deadline(brief: Brief) -> None:
    signed = brief.signed
    ends = datetime.fromisoformat(brief.signed_expired["swap"]["close_date"])

    assert signed.step["valid_before"] <= ends.timestamp()


@rule("7", "submitted-late")
def test_a_late_signature_is_refused_as_expired(brief: Brief) -> None:
    assert "expired" in brief.signed.answer.refuses("AUTHORIZATION_EXPIRED")["message"]


@rule("3.3", "expired")
def test_an_unused_authorization_expires(brief: Brief) -> None:
    path = f"/api/v2/swaps/{brief.signed_expired['swap']['id']}/authorize"

    assert brief.target.get(path, "Authorization", key="brief")["status"] == "Expired"


@rule("D3", "not-payable")
def test_a_swap_that_expired_takes_no_signature(brief: Brief) -> None:
    path = f"/api/v2/swaps/{brief.signed_expired['swap']['id']}/authorize"
    answer = brief.target.ask("POST", path, key="brief", json=dict(brief.signed.body))

    answer.refuses("SWAP_NOT_PAYABLE")
