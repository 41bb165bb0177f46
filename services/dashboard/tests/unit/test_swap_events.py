"""What a timeline says about each event: its cause as the api has it, and no guess."""

from __future__ import annotations

import pytest

from swap_dashboard.http.swap_events import timeline_of

AT = "2026-01-31T12:00:00+00:00"
LATER = "2026-01-31T12:01:30+00:00"
CREATED = {
    "type": "swap.user_transfer_pending",
    "from_status": None,
    "to_status": "user_transfer_pending",
    "at": AT,
}
SEEN = {**CREATED, "type": "swap.updated", "from_status": "user_transfer_pending", "at": LATER}


def test_an_event_has_the_cause_that_the_api_names() -> None:
    created, seen = timeline_of([CREATED | {"cause": None}, SEEN | {"cause": "deposit_seen"}])

    assert (created["cause"], created["moved"]) == (None, True)
    assert (seen["cause"], seen["moved"]) == ("deposit_seen", False)
    assert created["lasted"].total_seconds() == 90
    assert seen["lasted"] is None


@pytest.mark.parametrize("event", [CREATED, SEEN])
def test_an_event_of_an_earlier_api_has_none(event: dict[str, object]) -> None:
    [shown] = timeline_of([event])

    assert shown["cause"] is None
