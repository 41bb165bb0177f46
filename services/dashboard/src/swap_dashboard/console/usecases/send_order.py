"""Sends an order that its operator confirmed, at most once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_dashboard.console import observe
from swap_dashboard.console.domain.sessions import (
    OperatorSession,
    OrderState,
    PendingOrder,
    SeenRow,
)
from swap_dashboard.console.ports import (
    OperatorApi,
    ServiceName,
    ServiceRefused,
    ServiceUnavailable,
    TokenRefused,
)
from swap_dashboard.ports import Clock

CHANGED = "What you saw has changed since. Nothing was ordered: look again."
STILL_SIGNED = (
    "Signing may go on: what had begun before the stop has not ended. Order the stop once more; "
    "when that is done, nothing is signed."
)
PAID_EXTERNALLY = "Paid from outside the service; settle it with swapctl signer: "
UNKNOWN = "No answer came. It may have been carried out: the log says how it ended."


class SendOrder:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(
        self, session: OperatorSession, order: PendingOrder, api: OperatorApi
    ) -> None:
        """Send it unless it was sent; how it ended stands in the order itself.

        :raises TokenRefused: when the operator's token opens nothing any more.
        """
        if not order.begin(self._clock()):
            return
        try:
            await self._send(order, api)
        except BaseException:
            if order.state is OrderState.SENT:
                order.end(OrderState.UNKNOWN, UNKNOWN)
            raise
        finally:
            draft = order.draft
            observe.order_ended(
                session.name,
                draft.service,
                draft.path,
                outcome=order.state.value,
                order_id=order.id,
            )

    async def _send(self, order: PendingOrder, api: OperatorApi) -> None:
        draft = order.draft
        try:
            if draft.seen is not None and not await _is_unchanged(draft.seen, api):
                order.end(OrderState.REFUSED, CHANGED)
                return
        except (ServiceUnavailable, ServiceRefused) as error:
            order.end(OrderState.REFUSED, f"{error}. Nothing was ordered.")
            return
        try:
            answer = await api.order(ServiceName(draft.service), draft.path, draft.body)
        except ServiceRefused as refused:
            order.end(OrderState.REFUSED, str(refused))
        except TokenRefused:
            order.end(OrderState.REFUSED, "Your token opens nothing any more.")
            raise
        except ServiceUnavailable:
            order.end(OrderState.UNKNOWN, UNKNOWN)
        else:
            if answer.proposal is None:
                left = remaining_action(answer.content)
                order.end(OrderState.ACTION_REQUIRED if left else OrderState.DONE, left)
            else:
                why, id = str(answer.proposal["why"]), str(answer.proposal["id"])
                order.end(OrderState.PROPOSED, why, proposal_id=id)


def remaining_action(content: Mapping[str, Any]) -> str:
    """Return what an operator must still do, by the answer to an order; nothing in most cases."""
    if content.get("nothing_is_signed") is False:
        return STILL_SIGNED
    paid = content.get("paid_elsewhere") or ()
    return PAID_EXTERNALLY + ", ".join(map(str, paid)) if paid else ""


async def _is_unchanged(seen: SeenRow, api: OperatorApi) -> bool:
    """
    :raises ServiceUnavailable: when the service does not answer.
    :raises ServiceRefused: when it refuses.
    """
    content = await api.get(ServiceName(seen.service), seen.path)
    return seen.is_same(content[seen.rows])
