"""The life of a swap as it happens: one line per fact, on a terminal or in a log."""

from __future__ import annotations

from datetime import datetime

from rich.console import Console
from rich.markup import escape

COLOURS = {
    "request": "bold",
    "transaction": "yellow",
    "message": "dim",
    "status": "bold green",
    "webhook": "magenta",
}


class Timeline:
    """Prints each fact once, with the seconds since the swap was asked for."""

    def __init__(self, console: Console, started: datetime) -> None:
        self._console = console
        self._started = started
        self._told: set[str] = set()

    def tell(self, kind: str, what: str, *, at: datetime, key: str | None = None) -> None:
        """
        :param key: what makes it the same fact when it is seen again.
        """
        identity = f"{kind}/{key or what}"
        if identity in self._told:
            return
        self._told.add(identity)
        seconds = (at - self._started).total_seconds()
        colour = COLOURS[kind]
        line = f"{seconds:7.2f}s  [{colour}]{kind:<12}[/]  {escape(what)}"
        self._console.print(line, soft_wrap=True, highlight=False)
