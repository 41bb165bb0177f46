"""The operators' routes of a settler, below `/admin` on the internal port."""

from __future__ import annotations

from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_settler.operator.usecases.inspect_swaps import InspectSwaps
from swap_settler.operator.usecases.list_claimable import ListClaimable
from swap_settler.operator.usecases.list_stuck import ListStuck

CLAIMABLE_MAX = 1000


class Admin:
    def __init__(
        self,
        *,
        inspect_swaps: InspectSwaps,
        list_claimable: ListClaimable,
        list_stuck: ListStuck,
    ) -> None:
        self._list_stuck = list_stuck
        self._inspect_swaps = inspect_swaps
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

    async def claimable(self, _: Request) -> Response:
        """Answer `GET /admin/claimable`."""
        return JSONResponse({"claimable": await self._list_claimable(limit=CLAIMABLE_MAX)})

    async def stuck(self, _: Request) -> Response:
        """Answer `GET /admin/stuck`."""
        document = [
            {
                "swap_id": str(one.swap_id),
                "status": one.status.value,
                "since": one.since.isoformat(),
            }
            for one in await self._list_stuck()
        ]
        return JSONResponse({"stuck": document})
