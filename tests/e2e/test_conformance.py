"""The conformance suite, against the stack of these tests, as anybody runs it: from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins.stack import KEY_ALIAS, KEY_HEADER, Stack

SUITE = Path(__file__).parents[1] / "conformance"
SUITE_RUN = (sys.executable, "-m", "pytest", "--quiet", "-c", str(SUITE / "pytest.ini"))
# What this stack can show, it must show; the rest is told beside it.
NEVER_HERE = (
    "there is no campaign here",
    "the catalogue names no exchanges",
    "no route here goes through a swap provider",
    # Asked where there is one: services/api/tests/integration/test_conformance_rows.py
    "every network here has a Depository",
    "every network here offers deposit addresses",
)


@pytest.mark.timeout(300)
def test_the_stack_keeps_to_the_specification(stack: Stack, tmp_path: Path) -> None:
    report = tmp_path / "conformance.md"
    # Every key goes in the header that existing clients send: they work as they are.
    options = {
        "CONFORMANCE_STACK": str(stack.places.stack_file),
        "CONFORMANCE_KEY_HEADER": KEY_ALIAS,
        "CONFORMANCE_KEY_ALIAS": KEY_HEADER,
        "CONFORMANCE_REPORT": str(report),
    }
    done = subprocess.run(
        [*SUITE_RUN, str(SUITE)],
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    skipped = [line for line in report.read_text().splitlines() if line.startswith("| skipped")]
    assert [line for line in skipped if not line.rstrip(" |").endswith(NEVER_HERE)] == []


@pytest.mark.timeout(300)
def test_a_key_of_the_sandbox_is_all_that_the_suite_needs(stack: Stack) -> None:
    [key] = [p["api_key"] for p in stack.description["partners"] if p["name"] == "sandbox"]
    options = {
        "CONFORMANCE_BASE_URL": stack.description["gateway"]["url"],
        "CONFORMANCE_API_KEY": key,
        "CONFORMANCE_SANDBOX": "1",
    }

    done = subprocess.run(
        [*SUITE_RUN, str(SUITE)],
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
