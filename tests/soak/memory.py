"""Samples each service's memory during swaps, and finds growth.

A process fills its caches after its start. So the last third of its samples is compared with the
middle third, as a ratio, which does not depend on the machine's speed.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final

from tests.bench.machine import memory_of

SAMPLE_SECONDS: Final = 5.0
SAMPLES_MIN: Final = 36  # three minutes; each third is one minute
GROWTH_MAX: Final = 1.10
MEBIBYTE: Final = 2**20


class MemorySamples:
    """Proportional memory of processes. A restarted one counts as a new process."""

    def __init__(self) -> None:
        self._of_processes: defaultdict[tuple[str, int], list[int]] = defaultdict(list)

    def add(self, service: str, pid: int, size: int) -> None:
        """Add one sample, in bytes."""
        self._of_processes[service, pid].append(size)

    def thirds(self) -> Mapping[str, tuple[float, float]]:
        """Return the medians of the middle and the last third of a service's longest series."""
        longest: dict[str, Sequence[int]] = {}
        for (service, _), sizes in self._of_processes.items():
            longest[service] = max(longest.get(service, ()), sizes, key=len)
        return {
            service: _thirds(sizes)
            for service, sizes in sorted(longest.items())
            if len(sizes) >= SAMPLES_MIN
        }

    def report(self) -> dict[str, dict[str, float]]:
        """Return the thirds in mebibytes, and their ratio."""
        return {
            service: {
                "middle_mib": round(middle / MEBIBYTE, 1),
                "last_mib": round(last / MEBIBYTE, 1),
                "ratio": round(last / middle, 3),
            }
            for service, (middle, last) in self.thirds().items()
        }

    def problems(self) -> list[str]:
        """Return a line for each service with growing memory."""
        return [
            f"memory of {service} grew from {middle / MEBIBYTE:.1f} to {last / MEBIBYTE:.1f} MiB"
            for service, (middle, last) in self.thirds().items()
            if last > middle * GROWTH_MAX
        ]


def _thirds(sizes: Sequence[int]) -> tuple[float, float]:
    third = len(sizes) // 3
    return median(sizes[third : 2 * third]), median(sizes[2 * third :])


async def sample_memory(
    samples: MemorySamples, services: Sequence[str], pid_of: Callable[[str], int | None]
) -> None:
    """Add samples of each service until it is cancelled."""
    while True:
        for service in services:
            pid = pid_of(service)
            if pid is None:
                continue
            try:
                size = memory_of([pid]).proportional
            except (FileNotFoundError, ProcessLookupError):
                continue  # the process has just ended
            samples.add(service, pid, size)
        await asyncio.sleep(SAMPLE_SECONDS)
