"""Controls a development chain: stops it, mines, and removes blocks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.e2e import ticking

BLOCK_SECONDS = 1


class Chain:
    """The control side of one anvil."""

    def __init__(self, url: str) -> None:
        self._url = url

    @classmethod
    def of(cls, stack: Mapping[str, Any], network: str) -> Chain:
        [description] = [one for one in stack["networks"] if one["name"] == network]
        return cls(description["rpc_urls"][0])

    async def call(self, method: str, *params: object) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        # A development chain has no certificate to verify, and loading the root certificates is
        # slow.
        async with httpx.AsyncClient(timeout=10, verify=False) as client:
            answer = (await client.post(self._url, json=request)).json()
        assert "error" not in answer, f"{method}: {answer}"
        return answer["result"]

    async def head(self) -> int:
        return int(await self.call("eth_blockNumber"), 16)

    async def now(self) -> datetime:
        """Return the time of the newest block; later blocks are not older."""
        block = await self.call("eth_getBlockByNumber", "latest", False)
        return datetime.fromtimestamp(int(block["timestamp"], 16), UTC)

    async def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            await self.call("evm_mine")

    async def reorg(self, depth: int, *, keep: Sequence[tuple[str, int]] = ()) -> None:
        """Replace the last blocks by the same number of new ones.

        :param keep: raw transactions, each with the index of its new block (from 0). Other
            transactions are removed from blocks and pools.
        """
        await self.call("anvil_reorg", depth, [list(resent) for resent in keep])

    async def block_of(self, transaction_hash: str) -> int | None:
        """Return the number of the block that now has the transaction."""
        receipt = await self.call("eth_getTransactionReceipt", transaction_hash)
        return None if receipt is None else int(receipt["blockNumber"], 16)

    async def has_waiting(self) -> bool:
        """Return whether transactions are pending."""
        return int((await self.call("txpool_status"))["pending"], 16) > 0

    async def raw(self, transaction_hash: str) -> str:
        return str(await self.call("eth_getRawTransactionByHash", transaction_hash))

    @asynccontextmanager
    async def stop_mining(self) -> AsyncIterator[None]:
        """Stop automatic blocks; blocks are made only on request."""
        with self.interval_mining_only():
            await self.call("evm_setIntervalMining", 0)
            try:
                yield
            finally:
                await self.call("evm_setIntervalMining", BLOCK_SECONDS)

    def interval_mining_only(self) -> AbstractContextManager[None]:
        """Limit blocks to the chain's own interval of a second."""
        return ticking.interval_mining_only(self._url)
