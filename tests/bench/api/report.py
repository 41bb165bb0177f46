"""The ratios of a run and their targets. Absolute times are only reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table

from tests.bench import machine
from tests.bench.api.closed_loop import Measurement
from tests.bench.api.pollers import PARTS, PollResult
from tests.bench.api.run import ApiResult

MS = 1000
US = 1_000_000
KIB = 1024


@dataclass(frozen=True, slots=True)
class Mark:
    what: str
    measured: float
    bound: float
    is_least: bool

    @property
    def is_met(self) -> bool:
        return self.measured >= self.bound if self.is_least else self.measured <= self.bound


def marks(outcome: ApiResult) -> list[Mark]:
    """Return the targets: half of every "at least" goal, twice every "at most" goal."""
    quote, read, create = (outcome.rates[what] for what in ("quote", "read", "create"))
    hooks = outcome.webhooks
    cost = 1 - hooks.beside_trouble
    commit_p99 = create["commit per request"].spread.p99
    return [
        _at_least("quote, x framework", _times(quote["quoter"], quote["framework"]), 2.5),
        _at_least("quote, of plain ASGI", _times(quote["quoter"], quote["plain"]), 0.3),
        _at_least(
            "create, x framework with ORM", _times(create["service"], create["framework"]), 6
        ),
        _at_least(
            "create, x commit per request",
            _times(create["service"], create["commit per request"]),
            1.25,
        ),
        _at_most(
            "create p99, of commit per request's", create["service"].spread.p99 / commit_p99, 1
        ),
        _at_least(
            "read, of a point read over plain ASGI",
            _times(read["service"], read["point read"]),
            0.3,
        ),
        _at_most("by hash, x the time of by id", _times(read["service"], read["by hash"]), 2.4),
        _at_least("webhooks, x an httpx sender", hooks.notifier / hooks.httpx, 5),
        _at_least("webhooks, of an aiohttp sender", hooks.notifier / hooks.aiohttp, 0.3),
        _at_most("slowdown of other endpoints by a dead and a slow one", cost, 0.06),
    ]


def _at_least(what: str, measured: float, bound: float) -> Mark:
    return Mark(what, measured, bound, is_least=True)


def _at_most(what: str, measured: float, bound: float) -> Mark:
    return Mark(what, measured, bound, is_least=False)


def _times(one: Measurement, other: Measurement) -> float:
    return one.per_second / other.per_second


def show(outcome: ApiResult, console: Console) -> list[Mark]:
    """Print everything, and return the missed targets."""
    table = Table("", "", "per second", "p50 ms", "p99 ms", "x framework")
    for what, by_answerer in outcome.rates.items():
        for name, measured in by_answerer.items():
            table.add_row(
                what,
                name,
                f"{measured.per_second:,.0f}",
                f"{measured.spread.p50 * MS:.1f}",
                f"{measured.spread.p99 * MS:.1f}",
                f"{_times(measured, by_answerer['framework']):.2f}",
            )
    console.print(table)
    console.print(
        "create: framework and commit per request look up the key and the address, and write the "
        "swap and its message, as the service does; single row is a floor without either"
    )
    _show_polled(outcome.polled, console)
    hooks = outcome.webhooks
    console.print(
        f"webhooks a second: notifier {hooks.notifier:,.0f}, beside a dead and a slow endpoint "
        f"{hooks.beside_trouble:.0%} of that; bare aiohttp {hooks.aiohttp:,.0f}, "
        f"httpx {hooks.httpx:,.0f}; one alone p50 {hooks.idle_p50 * MS:.0f} ms"
    )
    used, whole = outcome.used, outcome.used.wall * outcome.used.cores
    console.print(
        f"broker: {outcome.broker}; a swap's document has {outcome.document_bytes:,} bytes; others "
        f"used {100 * used.other / whole:.1f} %, stolen {100 * used.stolen / whole:.1f} %"
        + ("  [red]VOID: the machine was not ours[/]" if used.is_void else "")
    )
    first_mark = Table("target", "measured", "bound", "")
    for mark in marks(outcome):
        sign = "at least" if mark.is_least else "at most"
        first_mark.add_row(
            mark.what,
            f"{mark.measured:.2f}",
            f"{sign} {mark.bound:g}",
            "reached" if mark.is_met else "[bold]missed[/]",
        )
    console.print(first_mark)
    return [mark for mark in marks(outcome) if not mark.is_met]


def _show_polled(polled: Sequence[PollResult], console: Console) -> None:
    for one in polled:
        used = ", ".join(f"{name} {one.processor.get(name, 0) * US:.0f}" for name in PARTS)
        errors = ", ".join(f"{number} x {name}" for name, number in one.errors.items())
        console.print(
            f"{one.clients:,} clients that poll every 300 ms: {one.per_second:,.0f} polls a second "
            f"of {one.requested_per_second:,.0f} asked, p50 {one.spread.p50 * MS:.0f} ms, "
            f"p99 {one.spread.p99 * MS:.0f} ms; us of a processor for each: {used}; "
            f"{one.bytes_per_connection / KIB:.1f} KiB of the api for each connection; "
            f"{one.spread.samples / one.clients:.0f} answers for each client, {one.fewest} for the "
            f"one with the fewest; errors: {errors or 'none'}"
        )
        if one.clients < one.wanted:
            console.print(f"  not {one.wanted:,}: a process may open no more files here")


def write(outcome: ApiResult, folder: Path) -> Path:
    """Write the numbers as JSON for comparisons."""
    target = folder / "api.json"
    target.write_bytes(
        orjson.dumps(
            {"machine": machine.description(), "outcome": outcome}, option=orjson.OPT_INDENT_2
        )
    )
    return target
