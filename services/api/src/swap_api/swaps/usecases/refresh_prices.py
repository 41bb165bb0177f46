from __future__ import annotations

from collections.abc import Mapping

from swap_api import observe
from swap_api.swaps.ports import Pricing
from swap_runtime.errors import Unavailable


class RefreshPrices:
    """Hold the newest prices of all tokens, dollars at 18 decimals for a whole one."""

    def __init__(self, pricing: Pricing) -> None:
        self._pricing = pricing
        self.revision = 0  # counts what was taken over, so that answers can be kept until then
        self.current: Mapping[tuple[str, str], int] = {}  # by network and token

    async def refresh(self) -> None:
        """Take over the newest prices; while there are none, the last ones stand."""
        try:
            answer = await self._pricing.prices()
        except Unavailable as error:
            observe.quoter_unavailable(error)
            return
        newer = {(p.network, p.token): int(p.usd_e18) for p in answer.prices}
        self.current = {**self.current, **newer}
        self.revision += 1
