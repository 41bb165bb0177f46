"""The command: starts a new stack, runs once, prints the numbers, and stops it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import structlog
import uvloop
from rich.console import Console

from swap_stack.daemon import StackError
from swap_stack.down import down
from swap_stack.options import Options
from swap_stack.places import Places, default_places
from swap_stack.report import Report
from swap_stack.up import up
from tests.bench.progress import Progress
from tests.bench.report import show, write
from tests.bench.run import BenchResult, run
from tests.bench.settings import Settings

# Blocks that never limit the rate; Postgres stores the time of each commit for the latencies.
ANVIL_ARGS = ("--gas-limit", "300000000")
POSTGRES_ARGS = ("-c", "track_commit_timestamp=on")

Result = TypeVar("Result")


def main() -> None:
    settings, console = (
        Settings.from_environment(Settings()),
        Console(highlight=False, soft_wrap=True),
    )

    async def measure(stack: Mapping[str, Any], places: Places) -> BenchResult:
        return await run(stack, places, settings, Progress(console))

    outcome, places = run_on_own_stack(measure, console)
    written = write(outcome, places.var.parent)
    missed = show(outcome, console)
    console.print(f"\nwritten to {places.display_path(written)}")
    if outcome.faults or missed:
        sys.exit(1)


def run_on_own_stack(
    measure: Callable[[Mapping[str, Any], Places], Awaitable[Result]], console: Console
) -> tuple[Result, Places]:
    """Start a new stack, measure it and stop it; exit with the reason if it cannot start."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    places = Places(default_places().var / "bench" / "stack")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_with_stack(places, measure, console)), places
        except StackError as error:
            sys.exit(f"\n{error}")


async def _with_stack(
    places: Places,
    measure: Callable[[Mapping[str, Any], Places], Awaitable[Result]],
    console: Console,
) -> Result:
    chosen = Options.from_environment()
    options = replace(
        chosen,
        fresh=True,
        anvil_args=(*ANVIL_ARGS, *chosen.anvil_args),
        postgres_args=(*POSTGRES_ARGS, *chosen.postgres_args),
    )
    report = Report(console)
    stack = await up(places, options, report)
    try:
        gc.collect()
        gc.freeze()
        return await measure(stack, places)
    finally:
        if not os.environ.get("BENCH_KEEP"):
            await asyncio.shield(down(places, report))
