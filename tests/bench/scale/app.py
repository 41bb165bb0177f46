"""The command: starts a new stack, measures each arrangement, prints the numbers, and stops it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rich.console import Console

from swap_stack.places import Places
from tests.bench.app import run_on_own_stack
from tests.bench.progress import Progress
from tests.bench.scale.report import show, write
from tests.bench.scale.run import ScaleResult, run
from tests.bench.settings import Settings

# Shorter phases than in `make bench`, because there are eight arrangements.
SWAPS = 600
RATE = 30
SECONDS = 15


def main() -> None:
    """Run it. Exit status 1: a swap was lost or an invariant is broken."""
    settings = Settings.from_environment(
        replace(Settings(), swaps=SWAPS, rate=RATE, seconds=SECONDS)
    )
    console = Console(highlight=False, soft_wrap=True)

    async def measure(stack: Mapping[str, Any], places: Places) -> ScaleResult:
        return await run(stack, places, settings, Progress(console))

    outcome, places = run_on_own_stack(measure, console)
    written = write(outcome, places.var.parent)
    show(outcome, console)
    console.print(f"\nwritten to {places.display_path(written)}")
    if outcome.faults:
        sys.exit(1)
