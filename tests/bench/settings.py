"""The settings of a run, read from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

NUMBERS = (
    "swaps",
    "rate",
    "alone",
    "seconds",
    "warm_up",
    "concurrency",
    "creators",
    "floor_messages",
    "floor_transactions",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """`BENCH_SWAPS=500 BENCH_SECONDS=10 make bench`; docs/performance.md explains them."""

    swaps: int = 1000  # at an even pace, for latencies
    rate: int = 50  # of them per second
    alone: int = 20  # one every half second, for the latency of a single payout
    seconds: int = 30  # at full load, for the rate; 0 skips it
    warm_up: int = 6  # seconds of full load that are not counted
    concurrency: int = 800  # swaps in progress during full load
    creators: int = 12  # concurrent requests
    floor_messages: int = 20_000
    floor_transactions: int = 4_000
    profile: str = ""  # services to profile at full load: `api,settler`

    @classmethod
    def from_environment(
        cls, defaults: Settings, environ: Mapping[str, str] = os.environ
    ) -> Settings:
        chosen = replace(defaults, profile=environ.get("BENCH_PROFILE", ""))
        for name in NUMBERS:
            value = environ.get(f"BENCH_{name.upper()}")
            if value:
                chosen = replace(chosen, **{name: int(value)})  # type: ignore[arg-type]
        return chosen
