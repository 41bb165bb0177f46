"""Where single transactions are: in the mempool, in a block, reverted, or unknown to a node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from swap_chains.errors import InconsistentAnswer, NodeRefused
from swap_chains.evm.codec import from_quantity
from swap_chains.evm.rpc import Node, Request, Rpc

_METHODS: Final = ("eth_getTransactionReceipt", "eth_getTransactionByHash")


class TransactionState(StrEnum):
    UNKNOWN = "unknown"
    IN_MEMPOOL = "in_mempool"
    MINED = "mined"
    REVERTED = "reverted"  # mined, with receipt status 0: it moved nothing


@dataclass(frozen=True, slots=True)
class LocatedTransaction:
    """What one node reports of a transaction."""

    state: TransactionState
    block_number: int | None = None  # None unless a block has it


UNKNOWN_TRANSACTION: Final = LocatedTransaction(TransactionState.UNKNOWN)


async def locate_transactions(
    rpc: Rpc, transaction_hashes: Collection[str]
) -> Mapping[str, LocatedTransaction]:
    """Locate every transaction with one batch to one node.

    :param transaction_hashes: in lower case.
    :raises ChainError: when no node answers for all of them.
    """
    hashes = list(dict.fromkeys(transaction_hashes))
    return await rpc.on_one_node(lambda node: _locate(node, hashes))


async def _locate(node: Node, hashes: Sequence[str]) -> Mapping[str, LocatedTransaction]:
    requests = [Request(method, (h,)) for h in hashes for method in _METHODS]
    answers = await node.batch(requests, unit=len(_METHODS))
    receipts, transactions = answers[::2], answers[1::2]
    return {
        h: _to_located_transaction(node, h, receipt, transaction)
        for h, receipt, transaction in zip(hashes, receipts, transactions, strict=True)
    }


def _to_located_transaction(
    node: Node, transaction_hash: str, receipt: Any, found: Any
) -> LocatedTransaction:
    for answer in (receipt, found):
        if isinstance(answer, NodeRefused):  # as while the node builds its index
            raise answer
    if receipt is not None:
        _check_hash(node, transaction_hash, receipt["transactionHash"])
        has_reverted = from_quantity(receipt.get("status") or "0x1") == 0
        state = TransactionState.REVERTED if has_reverted else TransactionState.MINED
        return LocatedTransaction(state, from_quantity(receipt["blockNumber"]))
    if found is None:
        return UNKNOWN_TRANSACTION
    _check_hash(node, transaction_hash, found["hash"])
    if found.get("blockNumber") is None:
        return LocatedTransaction(TransactionState.IN_MEMPOOL)
    # Nodes index receipts a moment after the block: whether it reverted is not known yet.
    return LocatedTransaction(TransactionState.MINED, from_quantity(found["blockNumber"]))


def _check_hash(node: Node, expected: str, reported: str) -> None:
    if reported.lower() != expected:
        raise InconsistentAnswer(node.label, f"{reported} in the answer for {expected}")
