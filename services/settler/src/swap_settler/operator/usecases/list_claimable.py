from __future__ import annotations

from collections.abc import Sequence

from swap_settler.operator.ports import Record, Records


class ListClaimable:
    """List what waits for its owner, so that nothing is kept by being forgotten."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def __call__(self, *, limit: int) -> Sequence[Record]:
        return await self._records.list_claimable(limit=limit)
