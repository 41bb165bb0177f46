"""What gas costs, as a network's nodes suggest it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import aiohttp

from swap_chains.errors import ChainError
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.state import EvmState
from swap_chains.ports import Fees
from swap_runtime.database import forbid_open_transaction


class FeeReader(Protocol):
    """The one part of a chain reader that is needed here."""

    @property
    def network(self) -> str: ...

    async def fees(self) -> Fees: ...


class ChainGas:
    def __init__(self, reader: FeeReader) -> None:
        self._reader = reader

    @classmethod
    def of_nodes(
        cls, network: str, urls: Sequence[str], session: aiohttp.ClientSession
    ) -> ChainGas:
        """Ask these nodes, once each: the next poll is the next try."""
        rpc = Rpc.to_urls(
            network,
            urls,
            session,
            timeout_seconds=2,
            rounds=1,
            before_call=lambda: forbid_open_transaction("rpc"),
        )
        return cls(EvmState(rpc))

    @property
    def network(self) -> str:
        return self._reader.network

    async def find_max_fee_per_gas(self) -> int | None:
        """Return the suggestion; None when no node gives a usable answer."""
        try:
            return (await self._reader.fees()).max_fee_per_gas
        except ChainError:
            return None
