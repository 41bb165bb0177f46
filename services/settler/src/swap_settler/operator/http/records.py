"""What operators read of single records, below `/admin` on the internal port: a swap, a deposit,
claimable balances, stuck swaps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
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
from swap_settler.operator.usecases.inspect_records import InspectRecords
from swap_settler.operator.usecases.list_stuck import ListStuck
from swap_settler.records import Record
from swap_settler.settling.decide.dwelling import StuckSwap


class RecordAdmin:
    def __init__(self, inspect_records: InspectRecords, list_stuck: ListStuck) -> None:
        self._inspect_records = inspect_records
        self._list_stuck = list_stuck

    async def swap(self, request: Request) -> Response:
        """Answer `GET /admin/swaps/{id}`."""
        return await _answer_one(request, "swap", self._inspect_records.find_swap)

    async def deposit(self, request: Request) -> Response:
        """Answer `GET /admin/deposits/{id}`."""
        return await _answer_one(request, "deposit", self._inspect_records.find_deposit)

    @answers_wrong_queries
    async def claimable(self, request: Request) -> Response:
        """Answer `GET /admin/claimable`."""
        limit, after = read_limit(request), read_query_number(request, "after")
        found = await self._inspect_records.list_claimable(after=after or 0, limit=limit + 1)
        return answer_page("claimable", found, limit=limit, show=dict, place=_place_of_balance)

    async def one_claimable(self, request: Request) -> Response:
        """Answer `GET /admin/claimable/{id}`."""
        id = read_number(request.path_params["id"])
        found = None if id is None else await self._inspect_records.find_claimable(id)
        if found is None:
            return JSONResponse({"error": "nothing is left of this balance"}, status_code=404)
        return JSONResponse({"claimable": found})

    @answers_wrong_queries
    async def list_stuck(self, request: Request) -> Response:
        """Answer `GET /admin/stuck`."""
        limit, after = read_limit(request), read_place(request, read_query_uuid)
        found = await self._list_stuck.read_page(after=after, limit=limit + 1)
        return answer_page("stuck", found, limit=limit, show=_to_json, place=_place_of_swap)


async def _answer_one(
    request: Request, name: str, find: Callable[[UUID], Awaitable[Record | None]]
) -> Response:
    try:
        id = UUID(request.path_params["id"])
    except ValueError:
        return JSONResponse({"error": f"not a {name} id"}, status_code=400)
    record = await find(id)
    if record is None:
        return JSONResponse({"error": f"no such {name}"}, status_code=404)
    return JSONResponse(record)


def _place_of_balance(one: Mapping[str, object]) -> Mapping[str, str]:
    return {"after": str(one["id"])}


def _place_of_swap(one: StuckSwap) -> Mapping[str, str]:
    return {"after_at": one.since.isoformat(), "after_id": str(one.swap_id)}


def _to_json(one: StuckSwap) -> Mapping[str, Any]:
    return {
        "swap_id": str(one.swap_id),
        "status": one.status.value,
        "since": one.since.isoformat(),
    }
