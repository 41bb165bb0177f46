"""The life of a swap as it happens: one line per fact, on a terminal or in a log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape

from swap_stack.wrapping import wrap_text

COLOURS = {
    "request": "bold",
    "transaction": "yellow",
    "message": "dim",
    "status": "bold green",
    "webhook": "magenta",
}
TEXT_COLUMN = 24
SHOWN_ENDS = 6


@dataclass(frozen=True, slots=True)
class _Fact:
    kind: str
    what: str
    at: datetime


class Timeline:
    """Prints each fact once, in the order of time, with the seconds since the run began."""

    def __init__(self, console: Console, started: datetime) -> None:
        self._console = console
        self._printed_at = self._started = started
        self._known: set[str] = set()
        self._waiting: list[_Fact] = []

    def add(self, kind: str, what: str, *, at: datetime, key: str | None = None) -> None:
        """
        :param key: what makes it the same fact when it is seen again.
        """
        identity = f"{kind}/{key or what}"
        if identity not in self._known:
            self._known.add(identity)
            self._waiting.append(_Fact(kind, what, at))

    def print_fact(self, kind: str, what: str, *, at: datetime | None = None) -> None:
        """Print one fact now.

        :param at: by default the present time.
        """
        self.add(kind, what, at=at or datetime.now(UTC))
        self.show()

    def show(self) -> None:
        """Print what was added since the last call, sorted by time.

        A fact that is found late has the time of the line above it, so times never run backwards.
        """
        for fact in sorted(self._waiting, key=lambda fact: fact.at):
            self._printed_at = max(self._printed_at, fact.at)
            self._print(fact)
        self._waiting.clear()

    def _print(self, fact: _Fact) -> None:
        seconds = (self._printed_at - self._started).total_seconds()
        text = escape(wrap_text(fact.what, indent=TEXT_COLUMN, width=self._console.width))
        line = f"{seconds:7.2f}s  [{COLOURS[fact.kind]}]{fact.kind:<12}[/]  {text}"
        self._console.print(line, soft_wrap=True, highlight=False)


def shorten(word: str) -> str:
    """Return an address or a hash by its two ends."""
    return f"{word[: 2 + SHOWN_ENDS]}…{word[-SHOWN_ENDS:]}"
