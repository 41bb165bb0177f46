"""The orders of an operator's session: one per form, however often it is sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from swap_dashboard.console.domain.sessions import (
    CONFIRMATION_TIMEOUT,
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


def test_orders_are_equal_by_service_path_and_body() -> None:
    assert DRAFT.is_same_order(replace(DRAFT, facts=[("Waiting", "3")], title="another"))
    assert not DRAFT.is_same_order(replace(DRAFT, body={"network": "A"}))
    assert not DRAFT.is_same_order(replace(DRAFT, path="/payouts/go"))


@pytest.mark.parametrize("state", SENT)
def test_sent_order_is_never_replaced(state: OrderState) -> None:
    order, late = an_order(state), NOW + 2 * CONFIRMATION_TIMEOUT

    assert not order.may_be_replaced(late, is_same=True)
    assert not order.may_be_replaced(late, is_same=False)


def test_unsent_or_refused_order_is_replaced_by_a_correction() -> None:
    soon, late = NOW + timedelta(seconds=1), NOW + 2 * CONFIRMATION_TIMEOUT

    assert not an_order().may_be_replaced(soon, is_same=True)
    assert an_order().may_be_replaced(soon, is_same=False)
    assert an_order().may_be_replaced(late, is_same=True)
    assert an_order(OrderState.REFUSED).may_be_replaced(soon, is_same=True)


def test_id_of_a_sent_order_is_stored_after_the_order_is_dropped() -> None:
    session, sent, shown = a_session(), an_order(OrderState.DONE), an_order()
    for order in (sent, shown, *(an_order() for _ in range(ORDERS_MAX))):
        session.add_order(order)

    assert len(session.orders) == ORDERS_MAX
    assert session.sent_before == {sent.id}
