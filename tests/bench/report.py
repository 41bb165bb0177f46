"""The numbers of a run, as text and as JSON for comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from tests.bench import machine
from tests.bench.floors import FloorPair, Floors
from tests.bench.numbers import Spread
from tests.bench.run import ALONE, BenchResult
from tests.bench.session import SERVICES, Phase

MIB = 2**20
SWAPS_PER_SECOND = 165
OF_SENDER_PERCENT = 4.0
OF_PARTS = 6.0
IDLE_MIB = 500


@dataclass(frozen=True, slots=True)
class Target:
    """One target of a run."""

    what: str
    measured: str
    is_met: bool


def targets(outcome: BenchResult) -> list[Target]:
    """Return the targets of a run."""
    sender = outcome.floors.between.node.pipelined_per_second
    payout, parts = Spread.of(outcome.paced.steps.whole), outcome.paced.parts
    idle = outcome.idle.proportional / MIB
    lost = len(outcome.faults)
    found = [
        Target(f"memory of the idle services under {IDLE_MIB} MiB", f"{idle:.0f}", idle < IDLE_MIB),
        Target("nothing lost", f"{lost} faults" if lost else "no faults", not lost),
    ]
    what = f"payout p50 at most {OF_PARTS:.0f} x the sum of its parts during the load"
    if payout is None or parts is None:
        found.append(Target(what, "not measured", False))
    else:
        times = payout.p50 / parts
        found.append(Target(what, f"{times:.1f} x", times <= OF_PARTS))
    if outcome.full is not None:
        rate = outcome.full.per_second
        percent = 100 * rate / sender
        what = f"{SWAPS_PER_SECOND} swaps/s, or {OF_SENDER_PERCENT:.0f} % of a raw pipelined sender"
        is_met = rate >= SWAPS_PER_SECOND or percent >= OF_SENDER_PERCENT
        found.append(Target(what, f"{rate:.0f} swaps/s, {percent:.1f} %", is_met))
    return found


def show(outcome: BenchResult, console: Console) -> list[Target]:
    """Print everything, and return the missed targets."""
    phases = {} if outcome.alone is None else {ALONE: outcome.alone}
    phases[f"{outcome.settings.rate} swaps/s in bursts"] = outcome.bursts
    phases[f"{outcome.settings.rate} swaps/s"] = outcome.paced
    if outcome.full is not None:
        phases["full load"] = outcome.full
    console.print()
    console.print(_latencies(outcome, phases))
    console.print(_rates(phases))
    console.print(_processors(phases))
    console.print(_floors(outcome.floors))
    idle, loaded = outcome.idle, outcome.loaded
    console.print(
        f"memory of the five services: idle {idle.proportional / MIB:.0f} MiB (PSS), "
        f"{idle.resident / MIB:.0f} MiB (RSS); after {outcome.swaps} swaps "
        f"{loaded.proportional / MIB:.0f} MiB and {loaded.resident / MIB:.0f} MiB"
    )
    idle_cpu = sum(_of_services(outcome.idle_used).values()) / outcome.idle_used.wall
    console.print(f"processor of the five services, idle: {100 * idle_cpu:.1f} % of a core")
    _show_disturbance(phases, console)
    if outcome.busy:
        console.print(f"answers that asked for a retry: {outcome.busy}")
    for fault in outcome.faults:
        console.print(f"[red]LOST OR WRONG[/] {fault}")
    found = targets(outcome)
    for target in found:
        mark = "[green]reached[/]" if target.is_met else "[red]missed [/]"
        console.print(f"{mark}  {target.what}: {target.measured}")
    _show_at_rest(outcome, console)
    return [target for target in found if not target.is_met]


def _show_at_rest(outcome: BenchResult, console: Console) -> None:
    """Print the multiple of the parts at rest, which has no target (ADR 0042)."""
    payout = Spread.of(outcome.paced.steps.whole)
    if payout is not None:
        times = payout.p50 / outcome.floors.between.payout_seconds
        console.print(f"no target  payout p50, of the sum of its parts at rest: {times:.1f} x")


def write(outcome: BenchResult, folder: Path) -> Path:
    """Store the run in the folder of earlier ones."""
    moment = datetime.now(UTC)
    path = folder / f"{moment:%Y%m%d-%H%M%S}.json"
    document = orjson.dumps(_document(outcome, moment), option=orjson.OPT_INDENT_2)
    path.write_bytes(document)
    (folder / "latest.json").write_bytes(document)
    return path


def _latencies(outcome: BenchResult, phases: Mapping[str, Phase]) -> Table:
    table = numbers_table("Latencies in milliseconds", "p50", "p95", "p99", "samples")
    _spread(table, "quote", outcome.quotes)
    for name, phase in phases.items():
        _spread(table, f"create, {name}", phase.create)
        _spread(table, f"deposit final to payout sent, {name}", phase.steps.whole)
        for step, seconds in phase.steps.each.items():
            _spread(table, f"  until {step}", seconds)
        _spread(table, f"status to webhook, {name}", phase.webhook)
        _spread(table, f"created to last webhook, {name}", phase.lifetime)
    at_rest = outcome.floors.between.payout_seconds
    for name, phase in phases.items():
        if phase.parts is not None:
            _parts(table, f"sum of a payout's parts, measured during {name}", phase, phase.parts)
    for name, phase in phases.items():
        _parts(table, f"the same, at rest, {name}", phase, at_rest)
    return table


def _parts(table: Table, name: str, phase: Phase, parts: float) -> None:
    payout = Spread.of(phase.steps.whole)
    if payout is not None:
        table.add_row(name, f"{1000 * parts:.1f}", f"{payout.p50 / parts:.1f} x", "", "")


def _rates(phases: Mapping[str, Phase]) -> Table:
    table = numbers_table("Rate", "swaps", "seconds", "swaps/s", "machine busy")
    for name, phase in phases.items():
        busy = f"{100 * phase.used.busy:.0f} %"
        row = (str(phase.swaps), f"{phase.seconds:.1f}", f"{phase.per_second:.1f}", busy)
        table.add_row(name, *row)
    return table


def _processors(phases: Mapping[str, Phase]) -> Table:
    table = numbers_table("Processor, milliseconds per swap", *phases)
    names = dict.fromkeys(name for phase in phases.values() for name in phase.used.by_process)
    per_swap = [_per_swap(phase, phase.used.by_process) for phase in phases.values()]
    for name in names:
        row = [one.get(name, 0.0) for one in per_swap]
        if max(row) >= 0.01:
            table.add_row(name, *(f"{value:.2f}" for value in row))
    services = [_per_swap(phase, _of_services(phase.used)) for phase in phases.values()]
    table.add_row("five services", *(f"{sum(one.values()):.2f}" for one in services))
    table.add_row("everything", *(f"{sum(one.values()):.2f}" for one in per_swap))
    return table


def _floors(floors: FloorPair) -> Table:
    table = numbers_table("Floors, measured in this run", "before", "after", "mean")
    columns = [_floor(each) for each in (floors.before, floors.after, floors.between)]
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    return table


def _floor(floors: Floors) -> Mapping[str, str]:
    broker, database, node = floors.broker, floors.database, floors.node
    return {
        "broker: produced": f"{broker.produced_per_second:.0f}/s",
        "broker: consumed": f"{broker.consumed_per_second:.0f}/s",
        "broker: send to poll": f"{1000 * broker.hop_seconds:.2f} ms",
        "PostgreSQL: one row, one commit": f"{database.commits_per_second:.0f}/s",
        "PostgreSQL: commit": f"{1000 * database.commit_seconds:.2f} ms",
        "node: transfers taken, in batches": f"{node.accepted_per_second:.0f}/s",
        "node: transfers signed and pipelined": f"{node.pipelined_per_second:.0f}/s",
        "node: one transaction alone": f"{1000 * node.send_seconds:.2f} ms",
        "sign one payment": f"{1000 * node.sign_seconds:.2f} ms",
        "sum of a payout's parts": f"{1000 * floors.payout_seconds:.2f} ms",
    }


def _show_disturbance(phases: Mapping[str, Phase], console: Console) -> None:
    for name, phase in phases.items():
        whole = phase.used.wall * phase.used.cores
        other, stolen = phase.used.other / whole, phase.used.stolen / whole
        text = f"{name}: others used {100 * other:.1f} %, stolen {100 * stolen:.1f} %"
        if phase.used.is_void:
            text += "  [red]VOID: other programs used the machine[/]"
        console.print(text)


def _document(outcome: BenchResult, moment: datetime) -> dict[str, Any]:
    phases = {
        "alone": outcome.alone,
        "bursts": outcome.bursts,
        "paced": outcome.paced,
        "full": outcome.full,
    }
    return {
        "at": moment.isoformat(),
        "machine": machine.description(),
        "broker": outcome.broker,
        "settings": asdict(outcome.settings),
        "floors": {
            **_floors_document(outcome.floors.between),  # the baseline of all ratios
            "before": _floors_document(outcome.floors.before),
            "after": _floors_document(outcome.floors.after),
        },
        "quote": _percentiles(outcome.quotes),
        "phases": {name: _phase_document(p) for name, p in phases.items() if p is not None},
        "memory": {"idle": asdict(outcome.idle), "loaded": asdict(outcome.loaded)},
        "swaps": outcome.swaps,
        "busy_answers": outcome.busy,
        "faults": outcome.faults,
        "targets": [asdict(target) for target in targets(outcome)],
    }


def _floors_document(floors: Floors) -> dict[str, Any]:
    return {**asdict(floors), "payout_seconds": floors.payout_seconds}


def _phase_document(phase: Phase) -> dict[str, Any]:
    return {
        "swaps": phase.swaps,
        "seconds": phase.seconds,
        "per_second": phase.per_second,
        "disturbed": phase.used.disturbed,
        "busy": phase.used.busy,
        "create": _percentiles(phase.create),
        "payout": _percentiles(phase.steps.whole),
        "steps": {name: _percentiles(seconds) for name, seconds in phase.steps.each.items()},
        "webhook": _percentiles(phase.webhook),
        "lifetime": _percentiles(phase.lifetime),
        "parts_seconds": phase.parts,
        "processor_ms_per_swap": _per_swap(phase, phase.used.by_process),
    }


def _percentiles(values: Sequence[float]) -> dict[str, float] | None:
    spread = Spread.of(values)
    return None if spread is None else asdict(spread)


def _per_swap(phase: Phase, by_process: Mapping[str, float]) -> dict[str, float]:
    return {name: 1000 * used / max(phase.swaps, 1) for name, used in by_process.items()}


def _of_services(used: machine.ProcessorUse) -> dict[str, float]:
    return {
        name: seconds
        for name, seconds in used.by_process.items()
        if name.rpartition("-")[0] in SERVICES
    }


def _spread(table: Table, name: str, values: Sequence[float]) -> None:
    spread = Spread.of(values)
    if spread is not None:
        cells = (f"{1000 * value:.1f}" for value in (spread.p50, spread.p95, spread.p99))
        table.add_row(name, *cells, str(spread.samples))


def numbers_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table
