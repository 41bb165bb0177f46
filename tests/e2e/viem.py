"""A second wallet beside eth-account: viem, in a separate process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WALLET = Path(__file__).parents[2] / "evm/wallet/viem.mjs"
PATIENCE = 60.0


async def send(rpc_url: str, private_key: str, actions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Send deposit actions one after the other; return the hashes of the mined transactions."""
    transactions = [
        {
            "to": action["to_address"],
            "value": action["amount_in_base_units"],
            "data": action["call_data"],
            "gas": action["gas_limit"],
        }
        for action in actions
    ]
    request = {"rpc_url": rpc_url, "private_key": private_key, "transactions": transactions}
    hashes: list[str] = (await _ask(request))["hashes"]
    return hashes


async def sign(private_key: str, typed_data: Mapping[str, Any]) -> str:
    """Return the signature of the service's typed data, unchanged."""
    return str((await _ask({"private_key": private_key, "typed_data": typed_data}))["signature"])


async def _ask(request: Mapping[str, Any]) -> Mapping[str, Any]:
    pipe = asyncio.subprocess.PIPE
    wallet = await asyncio.create_subprocess_exec("node", WALLET, stdin=pipe, stdout=pipe)
    try:
        async with asyncio.timeout(PATIENCE):
            output, _ = await wallet.communicate(json.dumps(request).encode())
    finally:
        if wallet.returncode is None:
            wallet.kill()
            await wallet.wait()
    assert wallet.returncode == 0, f"the wallet ended with {wallet.returncode}"
    answer: Mapping[str, Any] = json.loads(output)
    return answer
