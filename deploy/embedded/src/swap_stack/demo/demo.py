"""`make demo` and `make swap`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from swap_stack.daemon import StackError
from swap_stack.demo.books import read_sums
from swap_stack.demo.closing import show_books, show_outcomes, show_trail
from swap_stack.demo.faults import list_faults
from swap_stack.demo.follow import FollowedSwap, Follower
from swap_stack.demo.journeys import JOURNEYS, NATIVE_TO_NATIVE, Journey
from swap_stack.down import down
from swap_stack.next_steps import show_next
from swap_stack.options import Options
from swap_stack.partners import Operator, make_short_lived_key
from swap_stack.places import Places
from swap_stack.report import Report
from swap_stack.up import up
from swap_stack.wrapping import wrap_text


async def demo(places: Places, options: Options, report: Report) -> None:
    """Start a stack of its own from nothing, run the journeys, stop.

    :raises StackError: when anything went differently than promised.
    """
    console = report.console
    stack = await up(places, replace(options, fresh=True), report)
    try:
        outcomes = tuple([outcome async for outcome in _run(JOURNEYS, stack, places, report)])
        sums = await read_sums(stack["postgres"]["auditor_url"])
        console.print()
        show_outcomes(outcomes, console)
        show_books(sums, stack, console)
    finally:
        await asyncio.shield(down(places, report))
    if faults := list_faults(outcomes, sums):
        raise StackError("\n".join(faults))
    show_next(console)


async def swap(stack: Mapping[str, Any], places: Places, report: Report) -> None:
    """Send one more swap through a running stack and print its messages, topic by topic.

    :raises StackError: when it is not completed.
    """
    async for outcome in _run((NATIVE_TO_NATIVE,), stack, places, report):
        show_trail(outcome.trail, report.console)
        if faults := list_faults((outcome,), ()):
            raise StackError("\n".join(faults))


async def _run(
    journeys: tuple[Journey, ...], stack: Mapping[str, Any], places: Places, report: Report
) -> AsyncIterator[FollowedSwap]:
    is_short_lived = any(journey.is_short_lived for journey in journeys)
    key = make_short_lived_key(Operator.of_stack(stack)) if is_short_lived else None
    console = report.console
    follower = Follower(stack, places.root, report, short_lived_key=key)
    for journey in journeys:
        title = wrap_text(journey.title, indent=0, width=console.width)
        console.print(f"\n[bold]{title}[/]", highlight=False)
        with console.status("waiting for the next block"):
            outcome = await follower.follow(journey)
        yield outcome
