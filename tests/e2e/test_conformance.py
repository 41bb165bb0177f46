"""The conformance suite against the stack of these tests, run from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins.stack import KEY_ALIAS, KEY_HEADER, Stack

SUITE = Path(__file__).parents[1] / "conformance"
SUITE_RUN = (sys.executable, "-m", "pytest", "--quiet", "-c", str(SUITE / "pytest.ini"))
# Rows that this stack cannot show; their reasons are beside them. It must show all others.
NEVER_HERE = (
    "there is no campaign here",
    "the catalogue names no exchanges",
    "no route here goes through a swap provider",
    # Tested on a network with one: services/api/tests/integration/test_conformance_rows.py
    "every network here has a Depository",
    "every network here offers deposit addresses",
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_stack_keeps_to_the_specification(stack: Stack, tmp_path: Path) -> None:
    report = tmp_path / "conformance.md"
    # Every key is sent in the header of existing clients, which must work unchanged.
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
