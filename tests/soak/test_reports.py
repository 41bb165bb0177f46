"""Reports of runs and the generated part of the page."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from swap_stack.places import ROOT
from tests.e2e.outside import Route
from tests.soak.checks import is_right_to_owner
from tests.soak.faults import Kind
from tests.soak.nemesis import FaultLog, Recovery
from tests.soak.report import Run, make_report
from tests.soak.traffic import EXCESS, Behaviour, EndedSwap, Method, Plan, SwapRun

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.01")


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    path = ROOT / "tools/generate_reliability.py"
    spec = importlib.util.spec_from_file_location("generate_reliability", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("generating", None)


def a_report(problems: tuple[str, ...] = ()) -> dict[str, object]:
    swapped, broken = SwapRun(started=2), FaultLog()
    for number, status in enumerate(("completed", "refunded")):
        plan = Plan(number, 1.0, Method.DIRECT, Behaviour.PAID, ROUTE)
        swapped.ended.append(EndedSwap(plan, f"id-{number}", "to", "owner", status, {}))
    broken.faults.update({Kind.CUT: 3})
    broken.recoveries += [Recovery(Kind.CUT, "kafka", 0.5), Recovery(Kind.STALL, "kafka", 4.25)]
    return make_report(
        Run(7, 1.0, "kafka", "2026-01-01"),
        swapped,
        broken,
        restarts={"settler": 2},
        quiet_after_seconds=9.87,
        webhooks=6,
        memory={},
        problems=problems,
    )


def test_the_page_shows_the_memory_of_runs_that_sampled_it(generator: ModuleType) -> None:
    sizes = {"middle_mib": 70.5, "last_mib": 71.0, "ratio": 1.007}
    report = {**a_report(), "memory": {"api": sizes, "settler": sizes}}

    section = generator.soak_section([a_report(), report])

    assert "| broker | seed | minutes | faults | api | settler |" in section
    assert "| kafka | 7 | 1 | 3 | 70.5, 71 | 70.5, 71 |" in section
    assert "Memory" not in generator.soak_section([a_report()])


def test_a_report_sums_what_was_done_and_names_the_longest_recovery() -> None:
    report = a_report()

    assert report["swaps"] == {"direct transfer": {"completed": 1, "refunded": 1}}
    assert report["faults"] == {"cut connections": 3}
    longest = {"seconds": 4.2, "after": "stall connections", "of": "kafka"}
    assert report["longest_recovery"] == longest
    assert report["problems"] == []


def test_the_page_shows_reports_and_keeps_what_stands_around_them(generator: ModuleType) -> None:
    text = "# Before\n<!-- soak reports: begin -->\nold\n<!-- soak reports: end -->\nafter\n"
    sections = {"soak reports": generator.soak_section([a_report()])}

    page = generator.page(text, sections)

    assert page.startswith("# Before\n")
    assert page.endswith("\nafter\n")
    assert "| kafka | 7 | 1 | 2026-01-01 | 2 | 3 | 2 | 6 | 4.2 s, stall connections |" in page
    assert "| direct transfer | 1 | 1 |" in page
    assert "old" not in page
    assert generator.page(page, sections) == page


def test_the_page_shows_what_caught_the_mutants_of_each_file(generator: ModuleType) -> None:
    result = {
        "part": "settler",
        "percent": 91,
        "valid": 11,
        "files": {"domain/caps.py": {"judged": 1, "killed": 9, "survived": 1, "timeout": 0}},
        "judged": [["swap_settler.paying.decide.caps.Cap.fits", "- return True\n+ a | b", "why"]],
    }

    section = generator.mutation_section({"settler": result})

    assert section.startswith("## settler: 91 % of 11 valid mutants caught\n")
    assert "| domain/caps.py | 9 | 0 | 1 | 1 | 0 |" in section
    assert "| `caps.Cap.fits` | `- return True`<br>`+ a \\| b` | why |" in section


def test_a_swap_that_ends_otherwise_than_planned_is_known() -> None:
    plan = Plan(0, 1.0, Method.DIRECT, Behaviour.LESS, ROUTE)

    ends = [
        EndedSwap(plan, "id", "to", "owner", s, {}).is_as_planned for s in ("refunded", "failed")
    ]

    assert ends == [True, False]


@pytest.mark.parametrize(
    ("wanted", "status", "base_units", "is_right"),
    [
        (Behaviour.PAID, "completed", 0, True),
        (Behaviour.PAID, "completed", 1, False),
        (Behaviour.REFUNDED, "refunded", 0, False),
        (Behaviour.REFUNDED, "refunded", 1, True),
        (Behaviour.CLAIMED, "failed", 0, False),
        (Behaviour.TWICE, "completed", 0, False),
        (Behaviour.TWICE, "completed", 1, True),
        (Behaviour.LESS, "completed", 1, False),
        (Behaviour.MORE, "completed", 0, True),
        (Behaviour.MORE, "completed", EXCESS, True),
        (Behaviour.MORE, "completed", EXCESS + 1, False),
        (Behaviour.MORE, "refunded", 0, False),
    ],
)
def test_only_what_is_not_paid_out_goes_back(
    wanted: Behaviour, status: str, base_units: int, *, is_right: bool
) -> None:
    plan = Plan(0, 1.0, Method.DIRECT, wanted, ROUTE)

    assert (
        is_right_to_owner(EndedSwap(plan, "id", "to", "owner", status, {}), base_units) is is_right
    )
