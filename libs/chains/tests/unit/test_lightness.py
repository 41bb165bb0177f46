"""Reading a chain must not need web3, which costs memory and start-up time."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["evm.codec", "evm.rpc", "evm.reader", "evm.check", "evm.transaction_lookup", "fake"]
)
def test_reading_loads_neither_web3_nor_eth_account(module):
    code = f"import sys, swap_chains.{module}; print({{'web3', 'eth_account'}} & set(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )

    assert done.stdout.strip() == "set()"


def test_sending_does_not_load_web3():
    code = "import sys, swap_chains.evm.sender; print({'web3'} & set(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )

    assert done.stdout.strip() == "set()"
