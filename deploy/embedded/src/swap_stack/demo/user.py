"""A user's side: a wallet that sends exactly what a deposit action says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from eth_account import Account
from eth_utils.address import to_checksum_address

from swap_stack.node import Node
from swap_stack.wallet import Wallet, call_data

# PUSH1 0, PUSH1 0, REVERT; before it, what a deployment returns that with.
REFUSES = "0x6005600c60003960056000f360006000fd"
POLL_SECONDS = 0.2
AMOUNT_ARGUMENT = 3  # of depositERC20(id, token, receiver, amount)


class User:
    """One key on one network."""

    def __init__(self, node: Node, private_key: str) -> None:
        self._node = node
        self._private_key = private_key

    async def approve(self, action: Mapping[str, Any]) -> str | None:
        """Let the contract of the action take its tokens; return nothing where none takes any."""
        token = action["token"]["contract"]
        if token in (None, action["to_address"]):
            return None
        amount = int(action["encoded_args"][AMOUNT_ARGUMENT])
        data = call_data("approve(address,uint256)", action["to_address"], amount)
        return await (await self._wallet()).send(token, data=data)

    async def deposit(self, action: Mapping[str, Any], *, percent: int = 100) -> str:
        """Send the action: recipient, value and call data as they were given.

        :param percent: of the value, for a user who sends another one.
        """
        return await (await self._wallet()).send(
            action["to_address"],
            value=int(action["amount_in_base_units"]) * percent // 100,
            data=action["call_data"] or "0x",
            gas=int(action["gas_limit"] or 300_000),
        )

    def sign(self, action: Mapping[str, Any]) -> str:
        """Return the signature of the typed data, as it was given."""
        signed = Account.sign_typed_data(self._private_key, full_message=action["typed_data"])
        return str(signed.signature.to_0x_hex())

    async def _wallet(self) -> Wallet:
        return await Wallet.open(self._node, self._private_key)


async def deploy_refusing(node: Node, private_key: str) -> str:
    """Return the address of a contract that reverts whatever it is asked."""
    wallet = await Wallet.open(node, private_key)
    sent = await wallet.send(None, data=REFUSES)
    while True:
        receipt = await node.call("eth_getTransactionReceipt", sent)
        if receipt is not None:
            return str(to_checksum_address(receipt["contractAddress"]))
        await asyncio.sleep(POLL_SECONDS)


async def balance_of(node: Node, address: str, contract: str | None) -> int:
    """Return what an address has of a token, or of the chain's own coin."""
    if contract is None:
        return await node.number("eth_getBalance", address, "latest")
    call = {"to": contract, "data": call_data("balanceOf(address)", address)}
    return await node.number("eth_call", call, "latest")
