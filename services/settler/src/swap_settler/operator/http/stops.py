"""The kill switch, below `/admin`."""

from __future__ import annotations

from typing import Any, Final

from pydantic import AwareDatetime, model_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_settler.forms import OrderForm, WrongForm, answers_wrong_forms, read_form
from swap_settler.operator.decide.signer import EVERYWHERE, Stop
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.stop_payouts import StopPayouts

PAYOUTS_STOPPED: Final = (
    "nothing is signed there; what was signed is sent until it is mined, every chain is watched "
    "and everything is answered as before"
)
NETWORK_HALTED: Final = (
    "what was final there changed: nothing is signed there, and nothing is paid or sent back that "
    "rests on it; what waits keeps its age. An operator finds out which side is wrong, then: "
    "swapctl network resume NETWORK"
)
LOSS_BUDGET_SPENT: Final = (
    "nothing is paid for what came from there, nor sent back; what has a nonce already goes, and "
    "what waits for too long is claimable. An operator finds out how deep its reorgs go, then: "
    "swapctl payouts go NETWORK --losses"
)


class StopForm(OrderForm):
    """Where, and why."""

    network: str | None = None  # None: everywhere

    @property
    def where(self) -> str:
        return self.network or EVERYWHERE


class LiftForm(StopForm):
    is_of_losses: bool = False  # what a loss budget stopped: payments for what came from there
    # The stop that is to be lifted: another one, ordered since, stays. None: whichever is on.
    stopped_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _names_a_network(self) -> LiftForm:
        if self.is_of_losses and self.network is None:
            raise ValueError("losses are those of one network")
        return self


class StopAdmin:
    def __init__(self, stop_payouts: StopPayouts, *, guard_losses: GuardLosses) -> None:
        self._stop_payouts = stop_payouts
        self._guard_losses = guard_losses

    async def list_all(self, _: Request) -> Response:
        """Answer `GET /admin/payouts/stops`."""
        return await self._list_response()

    @answers_wrong_forms
    async def stop(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/payouts/stop`."""
        form = read_form(order, StopForm)
        is_over = await self._stop_payouts.stop(form.where, by=order.by, reason=form.reason)
        return await self._list_response(nothing_is_signed=is_over)

    @answers_wrong_forms
    async def lift(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/payouts/go`."""
        form = read_form(order, LiftForm)
        lift = self._guard_losses.lift if form.is_of_losses else self._stop_payouts.lift
        await lift(form.where, by=order.by, reason=form.reason, stopped_at=form.stopped_at)
        return await self._list_response()

    async def add_stop(self, order: OperatorOrder) -> OperatorOrder:
        """Bind an order that is stored to the stop of now, unless it names one.

        :raises RequestRefused: when nothing is stopped there.
        """
        try:
            form = read_form(order, LiftForm)
        except WrongForm:  # it is refused when it is approved
            return order
        if form.stopped_at is not None:
            return order
        if form.is_of_losses:
            stops = await self._guard_losses.list_stops()
        else:
            stops = await self._stop_payouts.list_all()
        stop = next((one for one in stops if one.network == form.where), None)
        if stop is None:
            raise RequestRefused(f"nothing is stopped: {form.where}")
        return order.bound_to(form, stopped_at=stop.at)

    async def _list_response(self, **details: bool) -> Response:
        stops = await self._stop_payouts.list_all()
        of_losses = await self._guard_losses.list_stops()
        halts = await self._stop_payouts.list_halts()
        document = [_shown_stop(stop, "signing", PAYOUTS_STOPPED) for stop in stops]
        document += [_shown_stop(stop, "halt", NETWORK_HALTED) for stop in halts]
        document += [_shown_stop(stop, "losses", LOSS_BUDGET_SPENT) for stop in of_losses]
        return JSONResponse({"stops": document, **details})


def _shown_stop(stop: Stop, kind: str, effect: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "network": stop.network,
        "at": stop.at.isoformat(),
        "by": stop.by,
        "reason": stop.reason,
        "means": effect,
    }
