"""The command: starts a new stack, measures the service and bare frameworks, and stops it."""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import replace

import structlog
import uvloop
from rich.console import Console

from swap_runtime.process.files import raise_file_limit
from swap_stack.daemon import StackError
from swap_stack.down import down
from swap_stack.options import Options
from swap_stack.places import Places, default_places
from swap_stack.report import Report
from swap_stack.up import up
from tests.bench.api.pollers import SPARE_FILES
from tests.bench.api.report import show, write
from tests.bench.api.run import ApiResult, BenchFailed, Run
from tests.bench.api.settings import Settings
from tests.bench.progress import Progress


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    logging.getLogger("httpx").setLevel(logging.WARNING)
    settings, console = Settings.from_environment(), Console(highlight=False, soft_wrap=True)
    places = Places(default_places().var / "bench" / "stack")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            outcome = runner.run(_bench(places, settings, console))
        except (StackError, BenchFailed) as error:
            sys.exit(f"\n{error}")
    written = write(outcome, places.var.parent)
    missed = show(outcome, console)
    console.print(f"\nwritten to {places.display_path(written)}")
    if missed or outcome.used.is_void:
        sys.exit(1)


async def _bench(places: Places, settings: Settings, console: Console) -> ApiResult:
    options = replace(Options.from_environment(), fresh=True)
    report = Report(console)
    raise_file_limit(max(settings.pollers) + SPARE_FILES)  # child processes inherit the limit
    stack = await up(places, options, report)
    try:
        return await Run(stack, places, settings, Progress(console))()
    finally:
        await asyncio.shield(down(places, report))
