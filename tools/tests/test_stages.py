"""Stages run in their order, each with its time, until one fails."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

TOOL = Path(__file__).parents[1] / "stages"
MAKE = """#!/bin/sh
echo "made $2"
test "$2" != broken
"""


def run(tmp_path: Path, *stages: str) -> tuple[int, str]:
    make = tmp_path / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    done = subprocess.run(
        [TOOL, *stages],
        env={**os.environ, "MAKE": str(make)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r"\d+ s\b", "N s", done.stdout)


def test_each_stage_prints_its_time_at_its_end_and_in_the_summary(tmp_path: Path) -> None:
    status, output = run(tmp_path, "one", "two")

    assert status == 0
    assert output.splitlines() == [
        *("== one", "made one", "== one: N s", "== two", "made two", "== two: N s"),
        *("== 2 stages, in N s", "== one: N s", "== two: N s"),
    ]


def test_no_stage_runs_after_a_failed_one(tmp_path: Path) -> None:
    status, output = run(tmp_path, "one", "broken", "two")

    assert status == 1
    assert output.splitlines()[-1] == "== broken: N s, FAILED (exit status 1)"
    assert "two" not in output
