"""Orders: shown once more with what they do, confirmed, sent once, and how they ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import (
    REASON_MAX,
    OrderDraft,
    OrderState,
    PendingOrder,
)
from swap_dashboard.console.http.layout import ConsolePages, Layout
from swap_dashboard.console.http.sign_in import to_id
from swap_dashboard.console.http.site import OrderFault
from swap_dashboard.console.http.view import View
from swap_dashboard.console.http.visitors import Visitor, Visitors
from swap_dashboard.console.usecases.send_order import SendOrder
from swap_dashboard.ports import Clock

TONES: Final = {
    OrderState.DONE: "good",
    OrderState.ACTION_REQUIRED: "bad",
    OrderState.PROPOSED: "warning",
    OrderState.REFUSED: "bad",
    OrderState.UNKNOWN: "warning",
    OrderState.SENT: "warning",
}
EXPIRED: Final = "It was not confirmed within five minutes. Nothing was ordered."
CHANGED: Final = "It has changed since the page was loaded: look again."
FORM_WITHOUT_ID: Final = "The form lacks its id. Load the page again."
SENT_BEFORE: Final = "This form gave an order before. The log of orders says how it ended."
OTHER_VALUES: Final = (
    "This form gave an order before, with other values. Load the page again to give another one."
)


class Orders:
    """Where the forms of all pages lead."""

    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        *,
        send_order: SendOrder,
        clock: Clock,
    ) -> None:
        self._layout = layout
        self._visitors = visitors
        self._send_order = send_order
        self._clock = clock

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/orders/{id}", self.show),
            Route("/orders/{id}", self.confirm, methods=["POST"]),
        ]

    def review(self, visitor: Visitor, draft: OrderDraft) -> Response:
        """Show an order before it is sent. What is confirmed is what is stored here.

        One form makes one order, however often it is sent: its id is the order's.

        :raises OrderFault: when the form has no id, or was sent with other values.
        """
        if visitor.order_id is None:
            raise OrderFault(FORM_WITHOUT_ID)
        order = PendingOrder(visitor.order_id, draft, self._clock())
        earlier = visitor.session.orders.get(order.id)
        is_same = earlier is not None and earlier.draft.is_same_order(draft)
        if order.id in visitor.session.sent_before:
            raise OrderFault(SENT_BEFORE)
        if earlier is None or earlier.may_be_replaced(order.made_at, is_same=is_same):
            visitor.session.add_order(order)
        elif not is_same:
            raise OrderFault(OTHER_VALUES)
        return RedirectResponse(f"/orders/{order.id}", status_code=303)

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        return self._page(visitor, _find(visitor, request))

    async def confirm(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        order = _find(visitor, request)
        is_shown = fields.get("made_at") == order.made_at.isoformat()
        if order.is_confirmable(self._clock()) and not is_shown:
            raise OrderFault(CHANGED)  # its form was sent again, with other values
        await self._send_order(visitor.session, order, visitor.api)
        return RedirectResponse(f"/orders/{order.id}", status_code=303)

    def _page(self, visitor: Visitor, order: PendingOrder) -> Response:
        is_expired = order.is_expired(self._clock())
        values: dict[str, Any] = {
            "order": order,
            "draft": order.draft,
            "is_expired": is_expired,
            "expired": EXPIRED,
            "tone": TONES.get(order.state, "quiet"),
        }
        view = View(title=order.draft.title)
        return self._layout.page(view, visitor, section="", name="order.html", **values)


class OrderingPages(ConsolePages):
    """A section of the console with pages that order something."""

    def __init__(self, layout: Layout, visitors: Visitors, orders: Orders) -> None:
        super().__init__(layout, visitors)
        self._orders = orders


def _find(visitor: Visitor, request: Request) -> PendingOrder:
    """
    :raises HTTPException: when this session has no such order.
    """
    order = visitor.session.orders.get(to_id(request.path_params["id"]))
    if order is None:
        raise HTTPException(404, "There is no such order.")
    return order


def reason_of(fields: Mapping[str, str]) -> str:
    """
    :raises OrderFault: when none is given.
    """
    reason = fields.get("reason", "")
    if not reason or len(reason) > REASON_MAX:
        raise OrderFault(f"Every order needs a reason of at most {REASON_MAX} characters.")
    return reason


def require_field(fields: Mapping[str, str], name: str, label: str) -> str:
    """
    :raises OrderFault: when the field is empty.
    """
    value = fields.get(name, "")
    if not value:
        raise OrderFault(f"{label} is missing.")
    return value


def require_same(fields: Mapping[str, str], row: Mapping[str, Any], name: str) -> str:
    """Return what a form showed of a row.

    :raises OrderFault: when the row has another value now.
    """
    if fields.get(name) != str(row[name]):
        raise OrderFault(CHANGED)
    return str(row[name])


def find_row(rows: Sequence[Mapping[str, Any]], **key: Any) -> Mapping[str, Any]:
    """
    :raises HTTPException: when there is no such row (any more).
    """
    for row in rows:
        if all(str(row.get(name)) == str(value) for name, value in key.items()):
            return row
    raise HTTPException(404, "It is not there any more: look again.")
