"""A wallet that is a contract, with one key for its calls and its signatures."""

from __future__ import annotations

import json

from eth_abi.abi import encode
from eth_typing import HexStr
from eth_utils.address import to_checksum_address
from web3.types import TxParams

from swap_stack.places import ROOT
from tests.e2e.outside import User, call_data

GAS_WALLET = 400_000


async def a_wallet_that_signs(user: User) -> str:
    """Create a wallet with the user's key."""
    artifact = json.loads((ROOT / "evm/artifacts/DevSignerWallet.json").read_text())
    key = encode(["address"], [user.address]).hex()
    receipt = await user.create(HexStr(artifact["bytecode"] + key))
    return str(receipt["contractAddress"])


async def fill(user: User, wallet: str, token: str, base_units: int) -> None:
    """Transfer some of the user's tokens to a wallet."""
    await _send(user, token, call_data("transfer(address,uint256)", wallet, base_units))


async def execute(user: User, wallet: str, to: str, data: HexStr) -> str:
    """Make a call from a wallet; return the transaction's hash."""
    call = call_data("execute(address,uint256,bytes)", to, 0, bytes.fromhex(data[2:]))
    return await _send(user, wallet, call)


async def _send(user: User, to: str, data: HexStr) -> str:
    call: TxParams = {
        "to": to_checksum_address(to),
        "value": 0,  # type: ignore[typeddict-item]
        "data": data,
        "gas": GAS_WALLET,
    }
    [sent] = await user.send(call)
    await user.receipt(sent)
    return sent
