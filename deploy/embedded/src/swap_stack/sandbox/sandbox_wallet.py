"""The user that the sandbox plays on one development chain, and what else it may do there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from swap_stack.keys import DevelopmentKey
from swap_stack.node import Node
from swap_stack.user import User
from swap_stack.wallet import Wallet, call_data

BLOCK_SECONDS = 1


class SandboxWallet(User):
    """Pays, and makes calls that only a development chain allows."""

    def __init__(self, node: Node, key: DevelopmentKey) -> None:
        super().__init__(node, key)
        self._mining_lock = asyncio.Lock()

    async def resume_mining(self) -> None:
        """Have a block made every second again, whatever was left behind."""
        await self.node.call("evm_setIntervalMining", BLOCK_SECONDS)

    @asynccontextmanager
    async def stop_mining(self) -> AsyncIterator[None]:
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

    async def block_at_usdc(self, usdc: str, address: str, role: DevelopmentKey) -> None:
        """Have the token refuse the account, as its issuer could."""
        call = {"to": usdc, "data": call_data("isBlacklisted(address)", address)}
        if await self.node.number("eth_call", call, "latest"):
            return
        wallet = await Wallet.open(self.node, role.private_key)
        await wallet.send(usdc, data=call_data("blacklist(address)", address))

    async def _raw(self, transaction_hash: str) -> str:
        return str(await self.node.call("eth_getRawTransactionByHash", transaction_hash))
