"""The caps on what may leave, and the lines before them, below `/admin`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.paging import (
    LISTED_MAX,
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_number,
    read_place,
    read_query_number,
    read_query_uuid,
)
from swap_settler.forms import OrderForm, WrongForm, answers_wrong_forms, read_form
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.usecases.manage_caps import CAP_CHANGED, NO_CAP, ManageCaps
from swap_settler.operator.usecases.weigh_orders import WeighOrders
from swap_settler.paying.decide.caps import CapState
from swap_settler.records import place_of, without_place


class CapForm(OrderForm):
    """Which cap."""

    network: str
    token: str | None = None
    app_id: UUID | None = None

    @property
    def name(self) -> CapName:
        return CapName(self.network, self.token, self.app_id)


class BoundCap(BaseModel):
    """The cap that an order replaces or lifts, as it was when the order was proposed."""

    model_config = ConfigDict(extra="forbid")

    units: str
    seconds: int
    set_at: AwareDatetime


class LiftedCap(CapForm):
    """A cap that is lifted: of an order that was proposed, only that one."""

    present: BoundCap | None = None

    @property
    def set_at(self) -> datetime | None:
        """Return when the cap was set that the order is bound to; None where it is to none."""
        return None if self.present is None else self.present.set_at


class NewCap(LiftedCap):
    """How much may leave: base units of its token, millionths of a dollar without one."""

    units: str = Field(pattern=r"^[0-9]{1,78}$")
    seconds: int = Field(ge=1, le=31 * 86_400)

    @property
    def limit(self) -> CapLimit:
        return CapLimit(int(self.units), timedelta(seconds=self.seconds))


class CapAdmin:
    def __init__(self, manage_caps: ManageCaps, weigh_orders: WeighOrders) -> None:
        self._manage_caps = manage_caps
        self._weigh_orders = weigh_orders

    async def list_all(self, _: Request) -> Response:
        """Answer `GET /admin/caps`."""
        return _caps_response(await self._manage_caps.list_all())

    @answers_wrong_queries
    async def list_spent(self, request: Request) -> Response:
        """Answer `GET /admin/caps/{id}/spent`: what the cap's number is made of."""
        id, limit = read_number(request.path_params["id"]), read_limit(request)
        after = read_place(request, read_query_uuid)
        found = (
            None
            if id is None
            else await self._manage_caps.list_counted(id, after=after, limit=limit + 1)
        )
        if found is None:
            return JSONResponse({"error": NO_CAP}, status_code=404)
        cap, payments = found
        return answer_page(
            "payments",
            payments,
            limit=limit,
            show=without_place,
            place=place_of,
            further_members={"cap": _shown_cap(cap)},
        )

    @answers_wrong_forms
    async def set(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/caps`."""
        form = read_form(order, NewCap)
        # Another operator may lower it after the stake of this order was computed.
        is_free = (
            order.is_approved or await self._weigh_orders.of_limit(form.name, form.limit) is None
        )
        caps = await self._manage_caps.set(
            form.name,
            form.limit,
            may_raise=is_free,
            set_at=form.set_at,
            by=order.by,
            reason=form.reason,
        )
        return _caps_response(caps)

    @answers_wrong_forms
    async def lift(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/caps/lift`."""
        form = read_form(order, LiftedCap)
        caps = await self._manage_caps.lift(
            form.name,
            set_at=form.set_at,
            by=order.by,
            reason=form.reason,
        )
        return _caps_response(caps)

    async def add_present_for_new(self, order: OperatorOrder) -> OperatorOrder:
        """Bind an order that is stored to the cap that it replaces.

        :raises RequestRefused: when there is none, or another one than the order names.
        """
        return await self._bind(order, read_form(order, NewCap))

    async def add_present(self, order: OperatorOrder) -> OperatorOrder:
        """Bind an order that is stored to the cap that it lifts.

        :raises RequestRefused: as above.
        """
        return await self._bind(order, read_form(order, LiftedCap))

    async def _bind(self, order: OperatorOrder, form: LiftedCap) -> OperatorOrder:
        cap = await self._manage_caps.find(form.name)
        present = BoundCap(
            units=str(cap.units), seconds=int(cap.span.total_seconds()), set_at=cap.set_at
        )
        if form.present not in (None, present):
            raise RequestRefused(CAP_CHANGED)
        return order.bound_to(form, present=present)

    @answers_wrong_queries
    async def list_queued(self, request: Request) -> Response:
        """Answer `GET /admin/payouts/queue`."""
        after = read_place(request, read_query_number)
        return await self._shown_queue(after=after, limit=read_limit(request))

    async def one_queued(self, request: Request) -> Response:
        """Answer `GET /admin/payouts/queue/{id}`."""
        try:
            found = await self._manage_caps.find_queued(UUID(request.path_params["id"]))
        except ValueError:
            found = None
        if found is None:
            return JSONResponse({"error": "this payment waits for no cap"}, status_code=404)
        return JSONResponse({"waiting": without_place(found)})

    async def _shown_queue(
        self, *, after: tuple[datetime, int] | None = None, limit: int = LISTED_MAX
    ) -> Response:
        found = await self._manage_caps.list_queued(after=after, limit=limit + 1)
        return answer_page("waiting", found, limit=limit, show=without_place, place=place_of)

    @answers_wrong_forms
    async def grant_pass(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/payouts/queue/{id}/pass`."""
        intent_id, form = payment_id(order), read_form(order, OrderForm)
        await self._manage_caps.grant_pass(intent_id, by=order.by, reason=form.reason)
        return await self._shown_queue()


def payment_id(order: OperatorOrder) -> UUID:
    """
    :raises WrongForm: when it is none.
    """
    try:
        return UUID(order.target["id"])
    except ValueError as error:
        raise WrongForm("not the id of a payment") from error


def _caps_response(caps: Sequence[CapState]) -> Response:
    return JSONResponse({"caps": [_shown_cap(cap) for cap in caps]})


def _shown_cap(cap: CapState) -> Mapping[str, Any]:
    return {
        "id": cap.id,
        "network": cap.network,
        "token": cap.token,
        "app_id": cap.app_id and str(cap.app_id),
        "counts": "base_units" if cap.token else "usd_micros",
        "units": str(cap.units),
        "seconds": int(cap.span.total_seconds()),
        "spent": str(cap.spent),
        "waiting": cap.waiting,
        "set_at": cap.set_at.isoformat(),
        "by": cap.set_by,
        "reason": cap.set_because,
    }
