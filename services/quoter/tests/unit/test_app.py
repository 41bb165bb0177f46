from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from services.quoter.tests.factories import a_catalogue
from swap_chains.evm.provider_agreement import one_provider_networks
from swap_chains.evm.rpc import Rpc, open_session

# Mostly SQLAlchemy, pydantic, aiohttp and FastStream, which every process uses.
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


@pytest.mark.fault("A19")
@pytest.mark.parametrize(
    ("environment", "urls", "expected"),
    [
        pytest.param("live", ["https://a.example/x", "https://b.example"], [], id="two providers"),
        pytest.param("live", ["https://a.example/x", "https://a.example"], ["N"], id="one"),
        pytest.param("test", ["https://a.example"], [], id="one without money"),
    ],
)
async def test_feeds_of_one_live_provider_count_only_beside_another_source(
    environment: str, urls: Sequence[str], expected: Sequence[str]
) -> None:
    catalogue = replace(a_catalogue(), environment=environment)
    async with open_session() as session:
        rpc = Rpc.to_urls("N", urls, session)

        assert list(one_provider_networks(catalogue, {"N": len(rpc.providers)})) == expected
