"""A network without a Depository and deposit addresses, which the development stack lacks.

The rows of the conformance suite about it, over a real port.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from api_harness import Harness

pytestmark = pytest.mark.connected
SUITE = Path(__file__).parents[4] / "tests/conformance"
ROWS = "network and (Depository or none)"
ALL_PASSED = "5 passed"


async def test_a_network_without_contracts_refuses_as_specified(api: Harness, url: str) -> None:
    variables = {"CONFORMANCE_BASE_URL": url, "CONFORMANCE_API_KEY": (await api.an_app()).key}
    inherited = {
        name: text for name, text in os.environ.items() if not name.startswith("CONFORMANCE_")
    }
    suite = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "--quiet", "-c", str(SUITE / "pytest.ini")),
        *(str(SUITE / "test_refusals.py"), "-k", ROWS),
        env={**inherited, **variables},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await suite.communicate()

    assert suite.returncode == 0, output.decode()
    assert ALL_PASSED in output.decode(), output.decode()
