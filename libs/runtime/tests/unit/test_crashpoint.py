from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from swap_runtime.crashpoint import KILLED

PROGRAM = """
from swap_runtime.crashpoint import crashpoint
for name in ("a", "b", "a", "a"):
    crashpoint(name)
"""


def run(**environment: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **environment}, check=False
    ).returncode


class TestCrashpoint:
    def test_has_no_effect_without_its_variables(self) -> None:
        assert run() == 0

    def test_ends_the_process_the_nth_time(self, tmp_path: Path) -> None:
        passed = tmp_path / "passed"

        assert run(CRASH_AT="a:2", CRASH_LOG=str(passed)) == KILLED
        assert passed.read_text().split() == ["a:1", "b:1", "a:2"]

    def test_writes_down_what_was_passed(self, tmp_path: Path) -> None:
        passed = tmp_path / "passed"

        assert run(CRASH_LOG=str(passed)) == 0
        assert passed.read_text().split() == ["a:1", "b:1", "a:2", "a:3"]
