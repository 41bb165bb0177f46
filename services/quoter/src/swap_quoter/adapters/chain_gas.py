"""What gas costs, as a network's nodes suggest it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import aiohttp

from swap_chains.errors import ChainError
from swap_chains.evm.l1_data_fees import l1_data_fees
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.state import EvmState
from swap_domain.catalogue import L1DataFee
from swap_runtime.postgres.database import forbid_open_transaction


class DataFeeReader(Protocol):
    async def upper_bound(self) -> int: ...


class ChainGas:
    """The price of a network's gas, with a rollup's fee for bytes in it.

    The fee is divided by the gas of the smallest transaction. So every transaction pays at least
    for its bytes, by the price of its gas alone.
    """

    def __init__(
        self, reader: EvmState, data_fee: DataFeeReader | None = None, *, units_min: int = 1
    ) -> None:
        """
        :param units_min: the gas of the service's smallest transaction on the network.
        """
        self._reader = reader
        self._data_fee = data_fee
        self._units_min = units_min

    @classmethod
    def of_nodes(
        cls,
        network: str,
        urls: Sequence[str],
        session: aiohttp.ClientSession,
        *,
        chain_id: int,
        l1: L1DataFee | None = None,
        units_min: int = 1,
    ) -> ChainGas:
        """Ask these nodes, once each: the next poll is the next try."""
        rpc = Rpc.to_urls(
            network,
            urls,
            session,
            timeout_seconds=2,
            rounds=1,
            before_call=lambda: forbid_open_transaction("rpc"),
            chain_id=chain_id,
        )
        data_fee = None if l1 is None else l1_data_fees(rpc, l1)
        return cls(EvmState(rpc), data_fee, units_min=units_min)

    @property
    def network(self) -> str:
        return self._reader.network

    async def find_max_fee_per_gas(self) -> int | None:
        """Return the suggestion; None when no node gives a usable answer."""
        try:
            fee = (await self._reader.fees()).max_fee_per_gas
            if self._data_fee is None:
                return fee
            return fee + -(-await self._data_fee.upper_bound() // self._units_min)
        except ChainError:
            return None
