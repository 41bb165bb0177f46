"""The sandbox's wallet on one development chain, and what else it may do there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from eth_account import Account
from eth_utils.address import to_checksum_address

from swap_stack.keys import DevelopmentKey
from swap_stack.node import Node
from swap_stack.wallet import Wallet, call_data

BLOCK_SECONDS = 1
# PUSH1 0, PUSH1 0, REVERT: whatever it is sent or asked.
REFUSES = "0x60006000fd"
WORD = 32
SELECTOR = 4


class SandboxWallet:
    """Pays what a deposit action says, or another amount. One transaction after the other."""

    def __init__(self, node: Node, key: DevelopmentKey) -> None:
        self.node = node
        self.address = key.address
        self._key = key.private_key
        self._transaction_lock = asyncio.Lock()
        self._mining_lock = asyncio.Lock()

    async def pay(
        self, action: Mapping[str, Any], base_units: int, *, before: Callable[[], None]
    ) -> str:
        """Return the hash of the deposit.

        :param before: called when all else is done: what fails earlier has paid nothing.
        """
        token, to = action["token"]["contract"], action["to_address"]
        if action["type"] == "manual_transfer":
            return await self._transfer(token, to, base_units, before)
        async with self._transaction_lock:
            wallet = await Wallet.open(self.node, self._key)
            data, value = action["call_data"] or "0x", base_units
            if token is not None:
                data, value = with_amount(action, base_units), 0
            if token not in (None, to):
                approval = call_data("approve(address,uint256)", to, base_units)
                await wallet.send(token, data=approval)
            before()
            return await wallet.send(to, value=value, data=data)

    def sign(self, typed_data: Mapping[str, Any]) -> str:
        signed = Account.sign_typed_data(self._key, full_message=dict(typed_data))
        return str(signed.signature.to_0x_hex())

    async def _transfer(
        self, token: str | None, to: str, base_units: int, before: Callable[[], None]
    ) -> str:
        async with self._transaction_lock:
            wallet = await Wallet.open(self.node, self._key)
            before()
            if token is None:
                return await wallet.pay(to, base_units)
            data = call_data("transfer(address,uint256)", to, base_units)
            return await wallet.send(token, data=data)

    # What only a development chain lets anybody do

    async def resume_mining(self) -> None:
        """Have a block made every second again, whatever was left behind."""
        await self.node.call("evm_setIntervalMining", BLOCK_SECONDS)

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """Let no block be made for the while but those that are asked for; one after the other."""
        async with self._mining_lock:
            await self.node.call("evm_setIntervalMining", 0)
            try:
                yield
            finally:
                await asyncio.shield(self.resume_mining())

    async def reorg_out(self, transaction_hash: str) -> str:
        """Replace the last block by one without the transaction; return what sends it again.

        Everybody else's transactions stay where they were.
        """
        with_transactions = True
        block = await self.node.call("eth_getBlockByNumber", "latest", with_transactions)
        remaining = [
            [await self._raw(row["hash"]), 0]
            for row in block["transactions"]
            if row["hash"] != transaction_hash
        ]
        raw = await self._raw(transaction_hash)
        await self.node.call("anvil_reorg", 1, remaining)
        return raw

    async def refuse_at(self, address: str) -> None:
        """Make an account one that takes no coins."""
        await self.node.call("anvil_setCode", address, REFUSES)

    async def block_at_usdc(self, usdc: str, address: str, role: DevelopmentKey) -> None:
        """Have the token refuse the account, as its issuer could."""
        call = {"to": usdc, "data": call_data("isBlacklisted(address)", address)}
        if await self.node.number("eth_call", call, "latest"):
            return
        wallet = await Wallet.open(self.node, role.private_key)
        await wallet.send(usdc, data=call_data("blacklist(address)", address))

    async def _raw(self, transaction_hash: str) -> str:
        return str(await self.node.call("eth_getRawTransactionByHash", transaction_hash))


def with_amount(action: Mapping[str, Any], base_units: int) -> str:
    """Return the call data of an action with another amount, which is its last argument."""
    data = bytes.fromhex(str(action["call_data"]).removeprefix("0x"))
    at = SELECTOR + WORD * (len(action["encoded_args"]) - 1)
    present = int.from_bytes(data[at : at + WORD], "big")
    if present != int(action["encoded_args"][-1]):
        raise ValueError(f"the call data of {to_checksum_address(action['to_address'])} is new")
    return "0x" + (data[:at] + base_units.to_bytes(WORD, "big") + data[at + WORD :]).hex()
