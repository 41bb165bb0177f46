from __future__ import annotations

from swap_dashboard.adapters.bench import HttpBench
from swap_dashboard.ports import BenchFacts


class ReadBench:
    """Read what the test bench offers, and which apps it plays.

    Both methods raise BenchUnavailable when it does not answer.
    """

    def __init__(self, bench: HttpBench) -> None:
        self._bench = bench

    async def facts(self) -> BenchFacts:
        return await self._bench.facts()

    async def plays(self, app_id: str) -> bool:
        return await self._bench.has_key_of(app_id)
