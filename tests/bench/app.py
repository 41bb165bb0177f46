"""The command: a stack of its own from nothing, one run, the numbers, the end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from dataclasses import replace

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
from tests.bench.run import Outcome, run
from tests.bench.settings import Settings

# Blocks that never are the limit, and the moment of every commit for the stop-watch.
ANVIL_ARGS = ("--gas-limit", "300000000")
POSTGRES_ARGS = ("-c", "track_commit_timestamp=on")


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    settings, console = Settings.from_environment(), Console(highlight=False, soft_wrap=True)
    places = Places(default_places().var / "bench" / "stack")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            outcome = runner.run(_bench(places, settings, console))
        except StackError as error:
            sys.exit(f"\n{error}")
    written = write(outcome, places.var.parent)
    missed = show(outcome, console)
    console.print(f"\nwritten to {places.shown(written)}")
    if outcome.faults or missed:
        sys.exit(1)


async def _bench(places: Places, settings: Settings, console: Console) -> Outcome:
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
        return await run(stack, places, settings, Progress(console))
    finally:
        if not os.environ.get("BENCH_KEEP"):
            await asyncio.shield(down(places, report))
