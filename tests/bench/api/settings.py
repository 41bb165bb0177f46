"""The settings of a run, read from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)  # with slots the class would not have the defaults
class Settings:
    """`BENCH_SECONDS=5 BENCH_WEBHOOKS=5000 BENCH_POLLERS=1000,4000 make bench-api`."""

    seconds: float = 3.0  # per measurement, twice
    webhooks: int = 2000  # per measurement, twice
    pollers: tuple[int, ...] = (500, 2000)  # clients that poll at the same time

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        return cls(
            seconds=float(environ.get("BENCH_SECONDS") or cls.seconds),
            webhooks=int(environ.get("BENCH_WEBHOOKS") or cls.webhooks),
            pollers=tuple(map(int, filter(None, environ.get("BENCH_POLLERS", "").split(","))))
            or cls.pollers,
        )
