"""Resource use of processes, from the kernel's counters."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK = 1 / os.sysconf("SC_CLK_TCK")
KIB = 1024
# Above this share of other programs a measurement is void.
DISTURBED_MAX = 0.10


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a set of processes, in bytes."""

    proportional: int  # shared pages are counted once
    resident: int


@dataclass(frozen=True, slots=True)
class ProcessorUse:
    """Processor seconds between two readings."""

    by_process: Mapping[str, float]
    wall: float
    other: float  # by processes that are not measured
    stolen: float  # by other machines on the same host
    cores: int

    @property
    def disturbed(self) -> float:
        """Return the share of the machine that other processes and other machines used."""
        return (self.other + self.stolen) / (self.wall * self.cores)

    @property
    def is_void(self) -> bool:
        return self.disturbed > DISTURBED_MAX

    @property
    def busy(self) -> float:
        """Return the share of the machine that was used by the measured processes."""
        return sum(self.by_process.values()) / (self.wall * self.cores)


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters at one time."""

    by_process: Mapping[str, float]
    busy: float
    stolen: float
    at: float

    def until(self, later: Reading) -> ProcessorUse:
        by_process = {
            name: max(seconds - self.by_process.get(name, 0.0), 0.0)
            for name, seconds in later.by_process.items()
        }
        busy = later.busy - self.busy
        return ProcessorUse(
            by_process,
            wall=later.at - self.at,
            other=max(busy - sum(by_process.values()), 0.0),
            stolen=later.stolen - self.stolen,
            cores=os.cpu_count() or 1,
        )


def read(roots: Mapping[str, int], at: float) -> Reading:
    """Read the processor time of each process with all its descendants, including ended ones."""
    user, nice, system, _idle, _wait, irq, soft, steal = _machine_ticks()
    children = _children()
    ends = frozenset(roots.values())  # one may have started the other
    by_process = {name: _tree_seconds(pid, children, ends) for name, pid in roots.items()}
    busy = (user + nice + system + irq + soft) * TICK
    return Reading(by_process, busy, steal * TICK, at)


def memory_of(pids: Iterable[int]) -> Memory:
    proportional = resident = 0
    for pid in pids:
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "Pss":
                proportional += int(value.split()[0]) * KIB
            elif name == "Rss":
                resident += int(value.split()[0]) * KIB
    return Memory(proportional, resident)


def description() -> dict[str, object]:
    """Return the kind of this machine, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "architecture": platform.machine(),
        "kernel": platform.system(),
        "python": platform.python_version(),
    }


def _machine_ticks() -> tuple[int, ...]:
    first = (PROC / "stat").read_text().split("\n", 1)[0]
    return tuple(int(field) for field in first.split()[1:9])


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    return children


def _tree_seconds(root: int, children: Mapping[int, list[int]], ends: frozenset[int]) -> float:
    ticks, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        fields = _stat(pid)
        # Its own time, and that of ended children that were waited for.
        ticks += sum(int(field) for field in fields[11:15]) if fields else 0
        waiting += [child for child in children.get(pid, ()) if child not in ends]
    return ticks * TICK


def _stat(pid: int) -> list[str]:
    """Return the fields after the program's name, which may contain any character."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text[text.rindex(")") + 2 :].split()
