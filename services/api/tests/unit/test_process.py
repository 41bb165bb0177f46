"""The parts of the process: few imports, and wiring that loses no message."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys
import swap_api.app
heavy = {"web3", "eth_account", "fastapi", "svix"} & set(sys.modules)
print(",".join(sorted(heavy)))
"""


def test_process_imports_neither_web3_nor_other_unused_packages() -> None:
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
    )

    assert probe.stdout.strip() == ""
