"""Repeats the suites of CI in random order, and names the tests that do not always pass.

    tools/flaky.py [STAGE]... [--times N] [--load N] [--seed N]

Each repetition has a seed: the first seed, the next number, and so on. pytest-randomly orders the
tests by it, and forge makes its fuzzed inputs of it. A stage of forge counts as one test.
The report is stored: `.cache/flaky/<commit>/<stage>-<load>-<seed>.xml`. A run that was interrupted
goes on with the repetitions that are missing; another commit begins anew.
`--load` starts so many processes that only compute, beside the tests.
Exit status 1: a test failed in a repetition, or a repetition reported nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

ROOT: Final = Path(__file__).resolve().parents[1]
STORED: Final = ROOT / ".cache/flaky"
FORGE: Final = "test-evm"
STAGES: Final = (
    FORGE,
    *("test-unit", "test-integration", "test-slow", "test-e2e", "test-slow-e2e", "test-faults"),
)
BUSY: Final = "while True: pass"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools/flaky.py")
    parser.add_argument("stages", nargs="*", default=STAGES)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    folder = STORED / _commit()
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(options.seed, options.seed + options.times)
    reports = {
        (stage, seed): folder / f"{stage}-{options.load}-{seed}.xml"
        for seed in seeds
        for stage in options.stages
    }
    for (stage, seed), report in reports.items():
        if not report.exists():
            _repeat(stage, seed, report, load=options.load)
    return _summarize(reports)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _repeat(stage: str, seed: int, report: Path, *, load: int) -> None:
    """Run a stage once. The report is written at its end, so one that is there is whole."""
    print(f"== {stage}, seed {seed}", flush=True)
    options = f"-p randomly -p no:cacheprovider --randomly-seed={seed} --junitxml={report}"
    seeded = {"PYTEST_ADDOPTS": options, "FOUNDRY_FUZZ_SEED": hex(seed)}
    with _busy(load):
        command = ["make", "--no-print-directory", stage]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **seeded}, check=False)
    if stage == FORGE:
        report.write_text(_report_of(stage, done.returncode))


def _report_of(stage: str, status: int) -> str:
    """Return a report in which the stage is one test."""
    case = ElementTree.Element("testcase", classname="make", name=stage)
    if status:
        ElementTree.SubElement(case, "failure", message=f"exit status {status}")
    return ElementTree.tostring(case, encoding="unicode")


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def failures_of(report: Path) -> Iterator[str]:
    """Yield the names of the tests that failed, or whose set-up or end did."""
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            yield f"{case.get('classname')}::{case.get('name')}"


def _summarize(reports: Mapping[tuple[str, int], Path]) -> int:
    failed: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    missing = [key for key, report in reports.items() if not report.exists()]
    for (stage, seed), report in reports.items():
        if report.exists():
            for name in sorted({*failures_of(report)}):
                failed[stage, name].append(seed)
    for (stage, name), seeds in sorted(failed.items()):
        print(f"UNSTABLE {stage}: {name}, with seed {', '.join(map(str, seeds))}")
    for stage, seed in missing:
        print(f"NO REPORT of {stage}, seed {seed}")
    done = len(reports) - len(missing)
    print(f"== {done} repetitions, {len(failed)} unstable tests")
    return bool(failed or missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
