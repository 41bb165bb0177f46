from __future__ import annotations

import subprocess
import sys

from swap_quoter.adapters.tables import METADATA

# Most of it is SQLAlchemy, pydantic, aiohttp and FastStream, which every process shares.
RSS_MEGABYTES_MAX = 110


def test_loads_neither_web3_nor_eth_account() -> None:
    program = (
        "import sys, swap_quoter.app, swap_runtime.process.running\n"
        "print([m for m in ('web3', 'eth_account', 'fastapi') if m in sys.modules])\n"
        "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])\n"
    )

    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    loaded, kilobytes = run.stdout.splitlines()
    assert loaded == "[]"
    assert int(kilobytes) // 1024 <= RSS_MEGABYTES_MAX


def test_names_its_own_tables() -> None:
    assert set(METADATA.tables) == {"inventory", "completion", "completion_average"}
