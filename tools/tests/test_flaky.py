"""A repetition is run once, its report is stored, and what failed in any is named."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("flaky", ROOT / "tools/flaky.py")
assert _spec is not None
assert _spec.loader is not None
flaky = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(flaky)

# Stands for make: writes the report that pytest would, in which one test fails with seed 2.
MAKE = """#!/bin/sh
echo "$2" >> {runs}
for option in $PYTEST_ADDOPTS; do
  case $option in
    --junitxml=*) report=${{option#--junitxml=}};;
    --randomly-seed=2) failure='<failure message="no"/>';;
  esac
done
echo "<testsuites><testsuite><testcase classname=\\"a\\" name=\\"test_b\\">$failure</testcase>\
<testcase classname=\\"a\\" name=\\"test_c\\"/></testsuite></testsuites>" > "$report"
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    runs, programs = tmp_path / "runs", tmp_path / "bin"
    programs.mkdir()
    (programs / "make").write_text(MAKE.format(runs=runs))
    (programs / "make").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(flaky, "STORED", tmp_path / "stored")
    return runs


def test_failed_test_is_named_and_stored_repetitions_are_not_run_again(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert flaky.main(["test-unit", "--times", "3", "--load", "1"]) == 1
        output = capsys.readouterr().out
        assert "UNSTABLE test-unit: a::test_b, with seed 2\n" in output
        assert "test_c" not in output

    assert runs.read_text().split() == ["test-unit"] * 3


def test_exit_status_is_zero_when_every_repetition_passed(runs: Path) -> None:
    assert flaky.main(["test-unit", "--times", "1"]) == 0


def test_stage_of_forge_is_repeated_with_other_inputs_and_named_by_its_exit_status(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs.parent / "bin/make").write_text(
        f'#!/bin/sh\necho "$2 $FOUNDRY_FUZZ_SEED" >> {runs}\ntest "$FOUNDRY_FUZZ_SEED" != 0x2\n'
    )

    for _ in range(2):
        assert flaky.main(["test-evm", "--times", "3"]) == 1
        output = capsys.readouterr().out
        assert "UNSTABLE test-evm: make::test-evm, with seed 2\n" in output

    assert runs.read_text().splitlines() == [f"test-evm {seed}" for seed in ("0x1", "0x2", "0x3")]


def test_repetition_without_a_report_is_named(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs.parent / "bin/make").write_text("#!/bin/sh\nexit 2\n")

    assert flaky.main(["test-unit", "--times", "1"]) == 1

    assert "NO REPORT of test-unit, seed 1\n" in capsys.readouterr().out
