"""The result of a run as JSON, from which `docs/reliability.md` is generated."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from swap_stack.places import ROOT
from tests.soak.nemesis import FaultLog
from tests.soak.traffic import SwapRun

# The reports of the runs on the page, one per broker and seed.
STORED_REPORTS: Final = ROOT / "tests/soak/kept"


@dataclass(frozen=True, slots=True)
class Run:
    """The parameters of a run."""

    seed: int
    minutes: float
    broker: str
    began: str  # the day, in ISO format


def make_report(
    run: Run,
    swapped: SwapRun,
    broken: FaultLog,
    *,
    restarts: Mapping[str, int],
    quiet_after_seconds: float,
    webhooks: int,
    memory: Mapping[str, Mapping[str, float]],
    problems: Sequence[str],
) -> dict[str, Any]:
    swaps: defaultdict[str, Counter[str]] = defaultdict(Counter)
    wanted: Counter[str] = Counter()
    for one in swapped.ended:
        swaps[one.plan.method.value][one.status] += 1
        wanted[one.plan.wanted.value] += 1
    longest = max(broken.recoveries, key=lambda one: one.seconds, default=None)
    return {
        "seed": run.seed,
        "minutes": run.minutes,
        "broker": run.broker,
        "began": run.began,
        "swaps": {method: dict(sorted(swaps[method].items())) for method in sorted(swaps)},
        "wanted": dict(sorted(wanted.items())),
        "faults": {kind.value: n for kind, n in sorted(broken.faults.items())},
        "restarts": dict(sorted(restarts.items())),
        "resumed": dict(sorted(broken.resumed.items())),
        "longest_recovery": longest
        and {
            "seconds": round(longest.seconds, 1),
            "after": longest.kind.value,
            "of": longest.target,
        },
        "quiet_after_seconds": round(quiet_after_seconds, 1),
        "webhooks": webhooks,
        "memory": memory,
        "problems": list(problems),
    }


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
