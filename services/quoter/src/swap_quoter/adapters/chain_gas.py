"""What gas costs, as a network's nodes suggest it."""

from __future__ import annotations

from typing import Protocol

from swap_chains.errors import ChainError
from swap_chains.ports import Fees


class FeeReader(Protocol):
    """The one part of a chain reader that is needed here."""

    @property
    def network(self) -> str: ...

    async def fees(self) -> Fees: ...


class ChainGas:
    def __init__(self, reader: FeeReader) -> None:
        self._reader = reader

    @property
    def network(self) -> str:
        return self._reader.network

    async def find_max_fee_per_gas(self) -> int | None:
        """Return the suggestion; None when no node gives a usable answer."""
        try:
            return (await self._reader.fees()).max_fee_per_gas
        except ChainError:
            return None
