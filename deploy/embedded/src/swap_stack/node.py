"""A minimal JSON-RPC client of development chains, independent of `swap_chains`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp

TIMEOUT = aiohttp.ClientTimeout(total=10)
RECEIPT_SECONDS = 30.0
POLL_SECONDS = 0.1


class NodeError(RuntimeError):
    """The node refused a request, or a transaction did not do what it was sent for."""


class Node:
    """A client of one JSON-RPC endpoint."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def call(self, method: str, *params: object) -> Any:
        """
        :raises NodeError: when the node answers with an error.
        :raises aiohttp.ClientError, TimeoutError: when it does not answer.
        """
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as session,
            session.post(self.url, json=request) as answer,
        ):
            reply = await answer.json()
        if "error" in reply:
            raise NodeError(f"{method}: {reply['error'].get('message', reply['error'])}")
        return reply["result"]

    async def number(self, method: str, *params: object) -> int:
        """Return an answer that is a hexadecimal quantity."""
        return int(await self.call(method, *params), 16)

    async def receipt(self, transaction_hash: str) -> Mapping[str, Any]:
        """Wait until a transaction is mined.

        :raises NodeError: when it reverted or is not mined in half a minute.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + RECEIPT_SECONDS
        while loop.time() < deadline:
            receipt: Mapping[str, Any] | None = await self.call(
                "eth_getTransactionReceipt", transaction_hash
            )
            if receipt is None:
                await asyncio.sleep(POLL_SECONDS)
                continue
            if int(receipt["status"], 16) != 1:
                raise NodeError(f"{transaction_hash} reverted")
            return receipt
        raise NodeError(f"{transaction_hash} was not mined in {RECEIPT_SECONDS:.0f} s")
