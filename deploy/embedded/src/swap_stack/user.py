"""A user of a development chain: pays what a deposit action says, or signs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from eth_account import Account
from eth_utils.address import to_checksum_address

from swap_stack.keys import DevelopmentKey
from swap_stack.node import Node
from swap_stack.wallet import GAS_CALL, Wallet, call_data

WORD = 32
SELECTOR = 4
# PUSH1 0, PUSH1 0, REVERT: whatever it is sent or asked.
REFUSES = "0x60006000fd"


class User:
    """One key on one network. One transaction after the other."""

    def __init__(self, node: Node, key: DevelopmentKey) -> None:
        self.node = node
        self.address = key.address
        self._key = key.private_key
        self._transaction_lock = asyncio.Lock()

    async def pay(
        self,
        action: Mapping[str, Any],
        base_units: int,
        *,
        before: Callable[[], None] = lambda: None,
    ) -> tuple[str | None, str]:
        """Return the hashes of the approval, where the contract takes tokens, and of the deposit.

        :param before: called when all else is done: what fails earlier has paid nothing.
        """
        to, value, data = _call(action, base_units)
        approval = None
        async with self._transaction_lock:
            wallet = await Wallet.open(self.node, self._key)
            token = action["token"]["contract"]
            if token not in (None, to):
                approve = call_data("approve(address,uint256)", to, base_units)
                approval = await wallet.send(token, data=approve)
            before()
            gas = int(action["gas_limit"] or GAS_CALL)
            return approval, await wallet.send(to, value=value, data=data, gas=gas)

    def sign(self, typed_data: Mapping[str, Any]) -> str:
        signed = Account.sign_typed_data(self._key, full_message=dict(typed_data))
        return str(signed.signature.to_0x_hex())


def requested_base_units(action: Mapping[str, Any]) -> int:
    """Return the amount of a deposit; a token's stands among the arguments of the call."""
    arguments = action["encoded_args"]
    return int(action["amount_in_base_units"]) or (int(arguments[-1]) if arguments else 0)


def _call(action: Mapping[str, Any], base_units: int) -> tuple[str, int, str]:
    """Return the recipient, the value and the data of a deposit of this amount."""
    token, to = action["token"]["contract"], action["to_address"]
    if token is None:
        return to, base_units, action["call_data"] or "0x"
    if action["type"] == "manual_transfer":
        return token, 0, call_data("transfer(address,uint256)", to, base_units)
    return to, 0, with_amount(action, base_units)


def with_amount(action: Mapping[str, Any], base_units: int) -> str:
    """Return the call data of an action with another amount, which is its last argument."""
    data = bytes.fromhex(str(action["call_data"]).removeprefix("0x"))
    at = SELECTOR + WORD * (len(action["encoded_args"]) - 1)
    present = int.from_bytes(data[at : at + WORD], "big")
    if present != int(action["encoded_args"][-1]):
        raise ValueError(f"the call data of {to_checksum_address(action['to_address'])} is new")
    return "0x" + (data[:at] + base_units.to_bytes(WORD, "big") + data[at + WORD :]).hex()


async def refuse_at(node: Node, address: str) -> None:
    """Make an account of a development chain one that takes no coins."""
    await node.call("anvil_setCode", address, REFUSES)


async def balance_of(node: Node, address: str, contract: str | None) -> int:
    """Return what an address has of a token, or of the chain's own coin."""
    if contract is None:
        return await node.number("eth_getBalance", address, "latest")
    call = {"to": contract, "data": call_data("balanceOf(address)", address)}
    return await node.number("eth_call", call, "latest")
