"""The operators' routes of a settler, below `/admin` on the internal port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.paging import (
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_number,
    read_place,
    read_query_number,
    read_query_uuid,
)
from swap_settler.operator.usecases.inspect_deposits import InspectDeposits
from swap_settler.operator.usecases.inspect_swaps import InspectSwaps
from swap_settler.operator.usecases.list_claimable import ListClaimable
from swap_settler.operator.usecases.list_stuck import ListStuck
from swap_settler.settling.decide.dwelling import Stuck, StuckPlace


class Admin:
    def __init__(
        self,
        *,
        inspect_swaps: InspectSwaps,
        inspect_deposits: InspectDeposits,
        list_claimable: ListClaimable,
        list_stuck: ListStuck,
    ) -> None:
        self._list_stuck = list_stuck
        self._inspect_swaps = inspect_swaps
        self._inspect_deposits = inspect_deposits
        self._list_claimable = list_claimable

    async def swap(self, request: Request) -> Response:
        """Answer `GET /admin/swaps/{id}`."""
        try:
            swap_id = UUID(request.path_params["id"])
        except ValueError:
            return JSONResponse({"error": "not a swap id"}, status_code=400)
        record = await self._inspect_swaps(swap_id)
        if record is None:
            return JSONResponse({"error": "no such swap"}, status_code=404)
        return JSONResponse(record)

    async def deposit(self, request: Request) -> Response:
        """Answer `GET /admin/deposits/{id}`."""
        try:
            deposit_id = UUID(request.path_params["id"])
        except ValueError:
            return JSONResponse({"error": "not a deposit id"}, status_code=400)
        record = await self._inspect_deposits(deposit_id)
        if record is None:
            return JSONResponse({"error": "no such deposit"}, status_code=404)
        return JSONResponse(record)

    @answers_wrong_queries
    async def claimable(self, request: Request) -> Response:
        """Answer `GET /admin/claimable`."""
        limit, after = read_limit(request), read_query_number(request, "after")
        found = await self._list_claimable(after=after or 0, limit=limit + 1)
        return answer_page("claimable", found, limit=limit, show=dict, place=_place_of_balance)

    async def one_claimable(self, request: Request) -> Response:
        """Answer `GET /admin/claimable/{id}`."""
        id = read_number(request.path_params["id"])
        found = None if id is None else await self._list_claimable.find(id)
        if found is None:
            return JSONResponse({"error": "nothing is left of this balance"}, status_code=404)
        return JSONResponse({"claimable": found})

    @answers_wrong_queries
    async def stuck(self, request: Request) -> Response:
        """Answer `GET /admin/stuck`."""
        limit = read_limit(request)
        place = read_place(request, read_query_uuid)
        after = None if place is None else StuckPlace(*place)
        found = await self._list_stuck.read_page(after=after, limit=limit + 1)
        return answer_page("stuck", found, limit=limit, show=_shown, place=_place_of_swap)


def _place_of_balance(one: Mapping[str, object]) -> Mapping[str, str]:
    return {"after": str(one["id"])}


def _place_of_swap(one: Stuck) -> Mapping[str, str]:
    return {"after_at": one.since.isoformat(), "after_id": str(one.swap_id)}


def _shown(one: Stuck) -> Mapping[str, Any]:
    return {
        "swap_id": str(one.swap_id),
        "status": one.status.value,
        "since": one.since.isoformat(),
    }
