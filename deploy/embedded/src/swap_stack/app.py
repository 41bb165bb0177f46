"""The commands; Ctrl-C ends each in order, and an error is printed as one sentence."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import sys
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import structlog
import typer

from swap_sdk import SwapError
from swap_stack.account import make_link
from swap_stack.daemon import StackError
from swap_stack.demo.demo import demo as demo_
from swap_stack.demo.demo import swap as swap_
from swap_stack.down import down as down_
from swap_stack.down import wipe
from swap_stack.drill.drill import drill as drill_
from swap_stack.drill.rotation import drill as drill_rotate_
from swap_stack.drill.upgrade import drill as drill_upgrade_
from swap_stack.node import NodeError
from swap_stack.options import Options
from swap_stack.places import Places, default_places
from swap_stack.programs import ProgramFailed
from swap_stack.report import Report
from swap_stack.sandbox.settings import SANDBOX
from swap_stack.summary import show
from swap_stack.up import find_described
from swap_stack.up import up as up_

app = typer.Typer(
    add_completion=False, help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False
)
INTERRUPTED = 130
Result = TypeVar("Result")


@app.command()
def up() -> None:
    """Start everything on this machine; return when it is ready."""
    report = Report()
    stack = run(up_(default_places(), Options.from_environment(), report))
    show(stack, report, link=run(make_link(stack)))


@app.command()
def down() -> None:
    """End exactly what `up` started; the data stays."""
    run(down_(default_places(), Report()))


@app.command()
def clean() -> None:
    """End the stack and the demo's, and remove their data."""
    report, places = Report(), default_places()
    for one in (demo_places(places), drill_places(places), places):
        if one.var.exists():
            run(wipe(one, report))
            one.up_lock.unlink(missing_ok=True)
            with suppress(OSError):  # another stack is in it
                one.var.rmdir()


@app.command()
def demo() -> None:
    """Start a stack of its own, run real swaps through it, show them live, stop."""
    run(demo_(demo_places(default_places()), Options.from_environment(), Report()))


@app.command()
def drill_restore() -> None:
    """Restore a backup under a stack of its own, and see that nothing is paid twice."""
    run(drill_(drill_places(default_places()), Options.from_environment(), Report()))


@app.command()
def drill_rotate() -> None:
    """Replace every key and password of a stack of its own, with a swap under way each time."""
    run(drill_rotate_(drill_places(default_places()), Options.from_environment(), Report()))


@app.command()
def drill_upgrade() -> None:
    """Upgrade a stack of the release before to the present code, and back, while swaps run."""
    run(drill_upgrade_(drill_places(default_places()), Options.from_environment(), Report()))


@app.command()
def swap() -> None:
    """Send one swap through the running stack and print its messages, topic by topic."""
    places = default_places()
    stack = find_described(places)
    if stack is None:
        sys.exit("Nothing runs here: `make up` or `docker compose up` first.")
    run(swap_(stack, places, Report()))


@app.command()
def env() -> None:
    """Print what a shell needs to talk to the running stack as the sandbox's partner."""
    places = default_places()
    stack = find_described(places)
    if stack is None:
        sys.exit("Nothing runs here: `make up` or `docker compose up` first.")
    for name, value in environment_of(stack, places).items():
        print(f"export {name}={shlex.quote(value)}")


def demo_places(places: Places) -> Places:
    """Return where the demo has a stack of its own, beside the one that may be running."""
    return Places(places.var / "demo", places.root)


def drill_places(places: Places) -> Places:
    """Return where the drill has its stack."""
    return Places(places.var / "drill", places.root)


def environment_of(stack: Mapping[str, Any], places: Places) -> Mapping[str, str]:
    """Return the variables that docs/quickstart.md uses."""
    [partner] = [row for row in stack["partners"] if row["name"] == SANDBOX]
    return {
        "CHECKOUT": str(places.root),
        "STACK": str(places.stack_file),
        "SWAPCTL_STACK": str(places.stack_file),
        "BASE_URL": stack["gateway"]["url"],
        "API_KEY": partner["api_key"],
        "APP_ID": partner["app_id"],
        "PATH": f"{places.root / '.venv/bin'}:{os.environ['PATH']}",
    }


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end; SIGTERM and a closed terminal stop it as Ctrl-C does."""
    try:
        return asyncio.run(_cancelled_by_signals(work))
    except (StackError, ProgramFailed, SwapError, NodeError) as error:
        sys.exit(f"\n{error}")
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(INTERRUPTED)


async def _cancelled_by_signals(work: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work


def main() -> None:
    # The report shows in its own words what the runtime logs for operators.
    warnings_only = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=warnings_only)
    app()
