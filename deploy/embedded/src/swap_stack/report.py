"""What the person at the terminal sees while a stack starts and stops."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


class Report:
    """One line per step, with the seconds since the beginning."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._started = time.monotonic()

    def say(self, what: str, detail: str = "") -> None:
        seconds = time.monotonic() - self._started
        self.console.print(f"[dim]{seconds:6.1f}s[/]  {what:<18} [dim]{detail}[/]")

    @contextmanager
    def timed(self, what: str, detail: str = "") -> Iterator[None]:
        """Say how long something took, once it is done."""
        before = time.monotonic()
        yield
        self.say(what, f"{detail + ', ' if detail else ''}{time.monotonic() - before:.1f} s")
