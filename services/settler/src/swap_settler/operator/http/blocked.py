"""Addresses that must not be paid, below `/admin`.

They get no quote, no swap and no payment. Their swap fails with `rejected_by_policy`, and its money
is claimable. A lift may need a second operator.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.paging import (
    WrongQuery,
    answer_page,
    answers_wrong_queries,
    read_limit,
)
from swap_settler.forms import OrderForm, answers_wrong_forms, read_form
from swap_settler.operator.usecases.manage_blocked_addresses import (
    BlockOrder,
    ManageBlockedAddresses,
)
from swap_settler.records import place_of, without_place

LISTED_MAX: Final = 10_000
# Each block is looked up alone: one on all networks is not found by the name of a network.
NO_BLOCK: Final = "there is no such block: look up all networks, and each network, too"


class AddressForm(OrderForm):
    """Which addresses, and why."""

    addresses: list[str] = Field(min_length=1, max_length=10_000)
    network: str | None = None  # None: on all of them

    def order(self, by: str) -> BlockOrder:
        return BlockOrder(self.addresses, self.network, by, self.reason)


class BlockedAdmin:
    def __init__(self, manage_blocked_addresses: ManageBlockedAddresses) -> None:
        self._manage_blocked_addresses = manage_blocked_addresses

    @answers_wrong_queries
    async def list_all(self, request: Request) -> Response:
        """Answer `GET /admin/blocked`."""
        query, limit = request.query_params, read_limit(request, largest=LISTED_MAX)
        after = query.get("after_address", ""), query.get("after_network", "")
        if after[1] and not after[0]:  # a block on all networks has no network
            raise WrongQuery("after_network is the place of an after_address")
        found = await self._manage_blocked_addresses.list_all(after=after, limit=limit + 1)
        return answer_page("blocked", found, limit=limit, show=without_place, place=place_of)

    async def show(self, request: Request) -> Response:
        """Answer `GET /admin/blocked/{address}`: on all networks, or on the `network`."""
        found = await self._manage_blocked_addresses.find(
            request.path_params["address"], request.query_params.get("network") or None
        )
        if found is None:
            return JSONResponse({"error": NO_BLOCK}, status_code=404)
        return JSONResponse({"blocked": without_place(found)})

    @answers_wrong_forms
    async def block(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/blocked`."""
        form = read_form(order, AddressForm)
        blocked = await self._manage_blocked_addresses.block(form.order(order.by))
        return JSONResponse({"blocked": blocked})

    @answers_wrong_forms
    async def lift(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/blocked/lift`."""
        form = read_form(order, AddressForm)
        lifted = await self._manage_blocked_addresses.lift(form.order(order.by))
        return JSONResponse({"lifted": lifted})
