"""What a timeline says about the cause of a move: what its statuses say, and no more."""

from __future__ import annotations

from collections import Counter

import pytest

from swap_dashboard.http.swap_events import CAUSES, cause_of
from swap_domain.lifecycle import TRANSITIONS

MOVES = Counter((str(before), str(after)) for (before, _), after in TRANSITIONS.items())


def test_every_cause_belongs_to_exactly_one_transition() -> None:
    named = {move for move in CAUSES if move[0] is not None}

    assert named <= set(MOVES)
    assert all(MOVES[move] == 1 for move in named)


@pytest.mark.parametrize("move", CAUSES)
def test_no_cause_names_who_acted(move: tuple[str | None, str]) -> None:
    text = cause_of({"from_status": move[0], "to_status": move[1]})

    assert text is not None
    assert not {"user", "app", "service", "network", "operator"} & set(text.split())


def test_an_update_has_no_cause() -> None:
    event = {"from_status": "user_transfer_pending", "to_status": "user_transfer_pending"}

    assert cause_of(event) is None
