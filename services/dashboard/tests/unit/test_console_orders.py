"""The orders of an operator's session: one per form, however often it is sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from swap_dashboard.console.domain.sessions import (
    CONFIRMED_WITHIN,
    ORDERS_MAX,
    OperatorSession,
    OrderDraft,
    OrderState,
    PendingOrder,
)

NOW = datetime(2026, 11, 25, tzinfo=UTC)
DRAFT = OrderDraft("settler", "/payouts/stop", {"network": "*"}, "Stop", [], "/stops")
SENT = [state for state in OrderState if state not in (OrderState.OPEN, OrderState.REFUSED)]


def an_order(state: OrderState = OrderState.OPEN) -> PendingOrder:
    return PendingOrder(uuid4(), DRAFT, NOW, state)


def a_session() -> OperatorSession:
    return OperatorSession(uuid4(), "ada", "operator", "token", NOW, NOW, "browser", "::1")


def test_orders_are_the_same_however_they_are_shown() -> None:
    assert DRAFT.is_same_order(replace(DRAFT, facts=[("Waiting", "3")], title="another"))
    assert not DRAFT.is_same_order(replace(DRAFT, body={"network": "A"}))
    assert not DRAFT.is_same_order(replace(DRAFT, path="/payouts/go"))


@pytest.mark.parametrize("state", SENT)
def test_what_was_sent_is_never_replaced(state: OrderState) -> None:
    order, late = an_order(state), NOW + 2 * CONFIRMED_WITHIN

    assert not order.may_be_replaced(late, is_same=True)
    assert not order.may_be_replaced(late, is_same=False)


def test_what_ordered_nothing_is_replaced_by_a_correction() -> None:
    soon, late = NOW + timedelta(seconds=1), NOW + 2 * CONFIRMED_WITHIN

    assert not an_order().may_be_replaced(soon, is_same=True)
    assert an_order().may_be_replaced(soon, is_same=False)
    assert an_order().may_be_replaced(late, is_same=True)
    assert an_order(OrderState.REFUSED).may_be_replaced(soon, is_same=True)


def test_a_form_whose_order_is_no_longer_stored_is_known_as_sent() -> None:
    session, sent, shown = a_session(), an_order(OrderState.DONE), an_order()
    for order in (sent, shown, *(an_order() for _ in range(ORDERS_MAX))):
        session.add_order(order)

    assert len(session.orders) == ORDERS_MAX
    assert session.sent_before == {sent.id}
