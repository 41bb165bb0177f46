"""Putting compiled contracts on a development chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from eth_utils.address import to_checksum_address

from swap_stack.daemon import StackError
from swap_stack.node import Node
from swap_stack.wallet import Wallet


def load_artifact(root: Path, name: str) -> Mapping[str, Any]:
    """
    :raises StackError: when the contract was never compiled.
    """
    path = root / "evm" / "artifacts" / f"{name}.json"
    if not path.is_file():
        raise StackError(f"evm/artifacts/{name}.json is missing: `cd evm && npm run artifacts`.")
    artifact: Mapping[str, Any] = orjson.loads(path.read_bytes())
    return artifact


async def mine_transaction(node: Node, transaction_hash: str) -> Mapping[str, Any]:
    """Have a block made now, not in a second, and return the receipt."""
    if await node.call("eth_getTransactionReceipt", transaction_hash) is None:
        await node.call("evm_mine")
    return await node.receipt(transaction_hash)


@dataclass(frozen=True, slots=True)
class Contracts:
    """Makes contracts as one owner."""

    root: Path
    node: Node
    owner: Wallet

    async def make(self, name: str, *arguments: object) -> str:
        """Return the address of a new contract."""
        return to_checksum_address((await self.create(name, *arguments))["contractAddress"])

    async def create(self, name: str, *arguments: object) -> Mapping[str, Any]:
        """Return the receipt of a new contract."""
        sent = await self.owner.deploy(load_artifact(self.root, name), *arguments)
        return await mine_transaction(self.node, sent)
