"""Start everything on this machine, and return once it is ready."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from swap_stack.daemon import StackError
from swap_stack.down import SUPERVISOR, down, wipe
from swap_stack.files import read_json
from swap_stack.options import Options
from swap_stack.places import Places
from swap_stack.processes import Registry, is_alive
from swap_stack.report import Report
from swap_stack.start import Start


async def up(places: Places, options: Options, report: Report) -> Mapping[str, Any]:
    """Return what var/stack.json says; what runs already is left as it is.

    :raises StackError: when something cannot be started; nothing is left running then.
    """
    with only_one(places):
        refuse_containers(places)
        if options.fresh:
            await wipe(places, report)
        running = find_running(places)
        if running is not None:
            report.print_step("runs already", "nothing was started; `make down` ends it")
            return running
        if dead := list_dead(places):
            report.print_step("ended by itself", f"{', '.join(dead)}: starting all again")
        if places.processes_file.exists():
            await down(places, report)
        try:
            return await Start(places, options, report).run()
        except BaseException:
            await asyncio.shield(down(places, report))
            raise


@contextmanager
def only_one(places: Places) -> Iterator[None]:
    """Let one `up` at a time work on a stack.

    :raises StackError: when another one is at it.
    """
    places.var.mkdir(parents=True, exist_ok=True)
    with places.up_lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where = places.display_path(places.var)
            raise StackError(f"Another `make up` is starting the stack in {where}.") from None
        yield


def refuse_containers(places: Places) -> None:
    """
    :raises StackError: when a stack in containers is described: its file would be lost.
    """
    stack: Mapping[str, Any] | None = read_json(places.stack_file)
    if stack and stack.get("containers"):
        where = places.display_path(places.stack_file)
        raise StackError(
            f"{where} describes a stack in containers: `docker compose down` first. "
            "If that stack has ended, remove the file."
        )


def find_running(places: Places) -> Mapping[str, Any] | None:
    """Return the description of a stack of which every process is alive."""
    stack: Mapping[str, Any] | None = read_json(places.stack_file)
    records = Registry(places.processes_file).list_records()
    whole = any(record.name == SUPERVISOR for record in records) and not list_dead(places)
    return stack if whole else None


def find_described(places: Places) -> Mapping[str, Any] | None:
    """Return the description of a stack that a client may use: of this machine or of containers.

    The containers' own job removes the file when they stop.
    """
    stack: Mapping[str, Any] | None = read_json(places.stack_file)
    return stack if stack and stack.get("containers") else find_running(places)


def list_dead(places: Places) -> tuple[str, ...]:
    records = Registry(places.processes_file).list_records()
    return tuple(record.name for record in records if not is_alive(record))
