"""`SEED=1 MINUTES=10 BROKER=kafka python -m tests.soak`: exits with 0 only without problems.

The logs of a failed run stay in `var/soak`. With KEEP=1 the report of a clean run is stored as a
source of `docs/reliability.md`. FAULTS=0 causes no fault: every service runs as long as the run,
and its memory must not grow.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from swap_stack.down import down
from swap_stack.options import NO, Options
from swap_stack.places import ROOT, Places
from swap_stack.report import Report
from swap_stack.up import up
from tests.soak.proxies import Proxies
from tests.soak.report import STORED_REPORTS, write_report
from tests.soak.run import soak

FOLDER = ROOT / "var/soak"


def main() -> int:
    seed = int(os.environ.get("SEED") or secrets.randbelow(2**32))
    minutes = float(os.environ.get("MINUTES") or 3)
    options = Options(broker=os.environ.get("BROKER") or "auto")
    places = Places(FOLDER / f"{options.broker}-{seed}-{os.getpid()}")
    return asyncio.run(_run(places, options, _list_abandoned(), seed=seed, minutes=minutes))


async def _end_abandoned(folders: Iterable[Path]) -> None:
    """Stop the processes of killed runs."""
    for var in folders:
        with (var / "log/down.log").open("w") as log:
            await down(Places(var), Report(Console(file=log)))
        _clear(var, keep_logs=True)


def _list_abandoned() -> list[Path]:
    """Return the folders of runs that have ended; their names end with the process id."""
    return [
        var
        for var in FOLDER.glob("*")
        if not Path(f"/proc/{var.name.rpartition('-')[2]}").exists()
        and (var / "processes.json").exists()
    ]


async def _run(
    places: Places, options: Options, abandoned: Iterable[Path], *, seed: int, minutes: float
) -> int:
    report, proxies = Report(Console(highlight=False, soft_wrap=True)), Proxies()
    report.print_step("soak", f"SEED={seed} MINUTES={minutes:g} BROKER={options.broker}")
    current = asyncio.current_task()
    assert current is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, current.cancel)
    await _end_abandoned(abandoned)
    places.logs.mkdir(parents=True)
    began = datetime.now(UTC).date().isoformat()
    try:
        with proxies.in_between(), places.log("up").open("w") as log:
            await up(places, options, Report(Console(file=log)))
        document = await soak(
            places,
            options,
            proxies,
            seed=seed,
            minutes=minutes,
            began=began,
            has_faults=_has_faults(),
            print_step=report.print_step,
        )
    finally:
        with places.log("down").open("w") as log:
            await down(places, Report(Console(file=log)))
        proxies.close()
    write_report(places.var / "report.json", document)
    for service, memory in document["memory"].items():
        report.print_step(
            "memory", f"{service}: {memory['middle_mib']} to {memory['last_mib']} MiB"
        )
    for problem in document["problems"]:
        report.print_step("PROBLEM", problem)
    if document["problems"]:
        _clear(places.var, keep_logs=True)
        where = places.display_path(places.var)
        report.print_step("failed", f"SEED={seed}; logs and report in {where}")
        return 1
    _clear(places.var, keep_logs=False)
    if os.environ.get("KEEP", "").lower() not in NO:
        stored = STORED_REPORTS / _stored_name(document["broker"], seed)
        write_report(stored, document)
        report.print_step(
            "kept", f"{places.display_path(stored)}; `make generate` writes docs/reliability.md"
        )
    report.print_step("clean", f"SEED={seed}: nothing lost")
    return 0


def _has_faults() -> bool:
    return os.environ.get("FAULTS", "1").lower() not in NO


def _stored_name(broker: str, seed: int) -> str:
    return f"{broker}-{seed}{'' if _has_faults() else '-without-faults'}.json"


def _clear(var: Path, *, keep_logs: bool) -> None:
    """Remove the files of a run; of a failed one keep logs, webhooks and the report."""
    if not keep_logs:
        shutil.rmtree(var)
        return
    for path in var.iterdir():
        if path.is_dir() and path.name not in ("log", "webhooks"):
            shutil.rmtree(path)


if __name__ == "__main__":
    sys.exit(main())
