"""Started processes: identified by pid and start time, so that a recycled pid is never killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from swap_stack.files import change_json, read_json

ENDED_STATES = frozenset("ZXx")  # a zombie has ended; only its parent has not collected it yet
POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One process. `started` and `boot` distinguish it from a later one with its pid."""

    name: str
    pid: int
    started: int  # clock ticks since boot
    boot: str
    stop_signal: str = "SIGTERM"
    grace_seconds: float = 10.0


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def started_at(pid: int) -> int | None:
    """Return when a living process started, in clock ticks since boot; None for one that ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in parentheses and may hold anything.
    state, *fields = stat[stat.rindex(")") + 2 :].split()
    return None if state in ENDED_STATES else int(fields[18])


def record_of(name: str, pid: int, stop_signal: str, grace_seconds: float) -> ProcessRecord:
    """
    :raises ProcessLookupError: when the process has ended already.
    """
    started = started_at(pid)
    if started is None:
        raise ProcessLookupError(f"{name} ended at once")
    return ProcessRecord(name, pid, started, boot_id(), stop_signal, grace_seconds)


def is_alive(record: ProcessRecord) -> bool:
    return record.boot == boot_id() and started_at(record.pid) == record.started


def send(record: ProcessRecord, number: signal.Signals) -> None:
    if is_alive(record):
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.pid, number)


async def end(record: ProcessRecord) -> bool:
    """End a process in its own way, then by force; return whether there was anything to end."""
    if not is_alive(record):
        return False
    send(record, signal.Signals[record.stop_signal])
    if not await _ended_within(record, record.grace_seconds):
        send(record, signal.SIGKILL)
        await _ended_within(record, record.grace_seconds)
    return True


async def _ended_within(record: ProcessRecord, seconds: float) -> bool:
    deadline = asyncio.get_running_loop().time() + seconds
    while is_alive(record):
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


class Registry:
    """The file that names every process of one stack, in the order they were started."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, record: ProcessRecord) -> None:
        """Record a process in place of an earlier one of the same name."""
        change_json(self._path, lambda rows: [*_without(rows, {record.name}), asdict(record)])

    def remove(self, names: Iterable[str]) -> None:
        gone = set(names)
        change_json(self._path, lambda rows: _without(rows, gone))

    def list_records(self) -> tuple[ProcessRecord, ...]:
        return tuple(ProcessRecord(**row) for row in read_json(self._path) or ())

    def list_alive(self) -> tuple[ProcessRecord, ...]:
        return tuple(record for record in self.list_records() if is_alive(record))


def _without(rows: list[dict[str, Any]] | None, names: set[str]) -> list[dict[str, Any]]:
    return [row for row in rows or () if row["name"] not in names]
