"""What the terminal shows while a stack starts and stops."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from rich.console import Console
from rich.markup import escape

from swap_stack.wrapping import wrap_text

DETAIL_COLUMN = 32


class Report:
    """One line per step, with the seconds since the beginning."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._started = time.monotonic()

    @property
    def started_at(self) -> datetime:
        """Return the beginning, for other output that counts its seconds from there."""
        return datetime.now(UTC) - timedelta(seconds=time.monotonic() - self._started)

    def print_step(self, what: str, detail: str = "") -> None:
        seconds = time.monotonic() - self._started
        shown = escape(wrap_text(detail, indent=DETAIL_COLUMN, width=self.console.width))
        line = f"[dim]{seconds:6.1f}s[/]  {escape(what):<22} [dim]{shown}[/]".rstrip()
        self.console.print(line)

    @contextmanager
    def time_step(self, what: str, detail: str = "") -> Iterator[None]:
        """Say how long something took, once it is done."""
        before = time.monotonic()
        yield
        self.print_step(what, f"{detail + ', ' if detail else ''}{time.monotonic() - before:.1f} s")
