"""End exactly what was started: the services first, then what they stand on."""

from __future__ import annotations

import asyncio
import shutil

from swap_stack.places import Places
from swap_stack.processes import ProcessRecord, Registry, end
from swap_stack.report import Report
from swap_stack.services import PROCESSES

SUPERVISOR = "supervisor"


def turn(record: ProcessRecord) -> int:
    """Return when a process is ended. The supervisor goes first, or it would restart the rest."""
    if record.name == SUPERVISOR:
        return 0
    return 1 if record.name.rpartition("-")[0] in PROCESSES else 2


async def down(places: Places, report: Report) -> None:
    """End every recorded process that is still the one we started; data stays."""
    registry = Registry(places.processes_file)
    ended = 0
    for now in range(3):
        # Asked again each turn: the supervisor may have started a service meanwhile.
        records = [record for record in registry.list_alive() if turn(record) == now]
        ended += sum(await asyncio.gather(*(end(record) for record in records)))
    places.stack_file.unlink(missing_ok=True)
    places.processes_file.unlink(missing_ok=True)
    if ended:
        report.print_step(
            "stopped", f"{ended} processes; the data stays in {places.display_path(places.var)}"
        )
    else:
        report.print_step("nothing runs here")


async def wipe(places: Places, report: Report) -> None:
    """End the stack and remove everything it wrote; another stack's folder in it stays."""
    if places.processes_file.exists():
        await down(places, report)
    for path in places.var.iterdir():
        if path == places.up_lock or (path / "processes.json").exists():
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
