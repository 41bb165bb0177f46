"""Work due after a batch, and the saved steps of a fact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.settler.tests.factories import (
    NOON,
    PLENTY,
    REQUESTED,
    USER,
    a_deposit_fact,
    a_swap,
)
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import Changes
from swap_settler.model.settled_step import SettledStep, changes_of
from swap_settler.model.swap import FailReason, Intent, IntentKind, IntentState, Swap
from swap_settler.model.work_due import work_due
from swap_settler.settling.decide import deposits
from swap_settler.settling.decide.main_leg import fail


def changes_of_deposit(units: int = 2 * REQUESTED) -> Changes:
    fact = a_deposit_fact(units=units)
    return deposits.decide(a_swap(refund_address=USER), fact, at=NOON, available=PLENTY, paid_id=1)


class TestARequote:
    def test_is_due_for_a_deposit_that_differs_from_the_quote(self) -> None:
        change = changes_of_deposit()

        assert change.swap is not None
        assert work_due([change]).requotes == (change.swap.id,)

    def test_is_not_due_again_by_another_fact(self) -> None:
        change = replace(changes_of_deposit(), is_requote_due=False)

        assert work_due([change]).requotes == ()


class TestARelay:
    @staticmethod
    def relay(state: IntentState) -> Intent:
        output = changes_of_deposit(REQUESTED).intents[0]
        return replace(output, kind=IntentKind.GASLESS, state=state)

    def swap(self, state: IntentState) -> Swap:
        return a_swap().with_intent(self.relay(state))

    def test_is_saved_when_a_deposit_moved_it(self) -> None:
        done = SettledStep(self.swap(IntentState.MINED))

        change = changes_of(self.swap(IntentState.BROADCAST), done, ChangeCause.DEPOSIT_SEEN)

        assert change.intents == (self.relay(IntentState.MINED),)

    def test_is_unchanged_without_a_step(self) -> None:
        swap = self.swap(IntentState.BROADCAST)

        change = changes_of(swap, SettledStep(swap), ChangeCause.DEPOSIT_SEEN)

        assert change.intents == ()


@pytest.mark.parametrize(("units", "kinds"), [(0, []), (REQUESTED, ["claimable"])])
def test_an_end_books_only_what_there_is_to_claim(units: int, kinds: list[str]) -> None:
    swap = changes_of_deposit(REQUESTED).swap if units else a_swap()
    assert swap is not None

    done = fail(swap, FailReason.ROUTE_UNAVAILABLE, NOON)

    assert [entry.kind for entry in done.entries] == kinds
