"""Takes over what gas costs on one network, poll after poll."""

from __future__ import annotations

from swap_quoter import observe
from swap_quoter.adapters.chain_gas import ChainGas
from swap_quoter.domain.market import Market, TimedValue
from swap_runtime.clock import Clock


class FollowGas:
    def __init__(self, source: ChainGas, market: Market, *, clock: Clock) -> None:
        self._source = source
        self._market = market
        self._clock = clock
        self.has_asked = False  # whatever the answer was

    async def __call__(self) -> None:
        """Ask once. Without an answer the known cost grows old, and then closes the routes."""
        asked_at = self._clock()
        max_fee_per_gas = await self._source.find_max_fee_per_gas()
        self.has_asked = True
        network = self._source.network
        if max_fee_per_gas is None:
            observe.gas_unknown(network)
            return
        self._market.gas = {**self._market.gas, network: TimedValue(max_fee_per_gas, asked_at)}
        observe.gas_known(network, max_fee_per_gas)
