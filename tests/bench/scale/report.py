"""The numbers of all arrangements, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console

from tests.bench import machine
from tests.bench.numbers import Spread
from tests.bench.report import numbers_table
from tests.bench.scale.run import Arrangement, ScaleResult
from tests.bench.session import SERVICES, Phase

MIB = 2**20


def show(outcome: ScaleResult, console: Console) -> None:
    """Print rates, payouts and the processor time of each service."""
    rates = numbers_table(
        "Full load, and payouts evenly", "swaps/s", "busy", "payout p50", "p95", "PSS"
    )
    for each in outcome.arrangements:
        payout = Spread.of(each.paced.steps.whole)
        cells = (payout.p50, payout.p95) if payout else ()
        rates.add_row(
            each.name,
            f"{each.full.per_second:.0f}",
            f"{100 * each.full.used.busy:.0f} %",
            *(f"{1000 * value:.1f} ms" for value in cells),
            f"{each.proportional / MIB:.0f} MiB",
        )
    console.print()
    console.print(rates)
    for title, phase_of in (
        (f"{outcome.settings.rate} swaps/s", _paced_phase),
        ("full load", _full),
    ):
        table = numbers_table(f"Processor, milliseconds per swap, {title}", *SERVICES, "together")
        for each in outcome.arrangements:
            used = per_swap(phase_of(each))
            row = [used[name] for name in SERVICES]
            table.add_row(each.name, *(f"{value:.2f}" for value in row), f"{sum(row):.2f}")
        console.print(table)
    for each in outcome.arrangements:
        if each.paced.used.is_void or each.full.used.is_void:
            console.print(f"[red]VOID: the machine was not ours[/] {each.name}")
    for fault in outcome.faults:
        console.print(f"[red]LOST OR WRONG[/] {fault}")


def per_swap(phase: Phase) -> Mapping[str, float]:
    """Return the milliseconds of processor time of each service, summed over its processes."""
    spent = dict.fromkeys(SERVICES, 0.0)
    for process, seconds in phase.used.by_process.items():
        name = process.rpartition("-")[0]
        if name in spent:
            spent[name] += 1000 * seconds / max(phase.swaps, 1)
    return spent


def write(outcome: ScaleResult, folder: Path) -> Path:
    """Store the run in the folder of the other benchmarks."""
    moment = datetime.now(UTC)
    path = folder / f"scale-{moment:%Y%m%d-%H%M%S}.json"
    document = {
        "at": moment.isoformat(),
        "machine": machine.description(),
        "broker": outcome.broker,
        "settings": asdict(outcome.settings),
        "arrangements": [_document(each) for each in outcome.arrangements],
        "faults": outcome.faults,
    }
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    return path


def _document(each: Arrangement) -> dict[str, Any]:
    return {
        "name": each.name,
        "doubled": list(each.doubled),
        "proportional": each.proportional,
        "paced": _phase(each.paced),
        "full": _phase(each.full),
    }


def _phase(phase: Phase) -> dict[str, Any]:
    payout = Spread.of(phase.steps.whole)
    return {
        "swaps": phase.swaps,
        "per_second": phase.per_second,
        "busy": phase.used.busy,
        "disturbed": phase.used.disturbed,
        "payout": None if payout is None else asdict(payout),
        "processor_ms_per_swap": per_swap(phase),
    }


def _paced_phase(each: Arrangement) -> Phase:
    return each.paced


def _full(each: Arrangement) -> Phase:
    return each.full
