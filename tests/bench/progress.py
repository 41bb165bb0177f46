"""Progress of a run: a live line on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

REPORTED_EVERY = 5.0
SHOWN_EVERY = 0.5


class Progress:
    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show a running step, and print its duration."""
        began = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(what):
                yield
        else:
            yield
        self._print(what, f"{time.monotonic() - began:.1f} s")

    @contextmanager
    def bar(self, what: str, done: Callable[[], int], expected: int | None) -> Iterator[None]:
        """Show the number of completed swaps, from a thread that reads it regularly."""
        began, ended = time.monotonic(), threading.Event()
        of = "" if expected is None else f" of {expected}"

        def line() -> str:
            return f"{done():6}{of} swaps done, {time.monotonic() - began:5.1f} s"

        def show(status: Status | None) -> None:
            while not ended.wait(REPORTED_EVERY if status is None else SHOWN_EVERY):
                if status is None:
                    self._print(what, line())
                else:
                    status.update(f"{what}: {line()}")

        status = self._console.status(what) if self._console.is_terminal else None
        thread = threading.Thread(target=show, args=(status,), daemon=True)
        if status is not None:
            status.start()
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            if status is not None:
                status.stop()
        self._print(what, line())

    def _print(self, what: str, detail: str) -> None:
        self._console.print(f"  {what:<26} [dim]{detail}[/]")
