from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_settler.operator.decide.rescues import ReturnOrder
from swap_settler.operator.store.rescues import PostgresRescues

LISTED_MAX: Final = 500


class ListRescues:
    """List to whom operators return tokens that no catalogue knows, newest first."""

    def __init__(self, rescues: PostgresRescues) -> None:
        self._rescues = rescues

    async def __call__(self, *, before: int | None, limit: int) -> Sequence[ReturnOrder]:
        """
        :param before: only orders with a lower id.
        """
        return await self._rescues.newest(before=before, limit=min(limit, LISTED_MAX))
