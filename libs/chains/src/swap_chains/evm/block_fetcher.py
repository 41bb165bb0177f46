"""Blocks with their movements, read from one node and held against each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from swap_chains.errors import InconsistentAnswer, NodeRefused
from swap_chains.events import Block, BlockAdded
from swap_chains.evm.blocks import header_at, header_of, headers_at, to_block
from swap_chains.evm.blooms import may_contain
from swap_chains.evm.codec import checksum_address, from_hex, from_quantity, to_quantity
from swap_chains.evm.memos import find_memo_candidates, with_proven_memos
from swap_chains.evm.movements import (
    Log,
    LogScope,
    deposit_transactions,
    in_log_order,
    to_logs,
    to_movements,
)
from swap_chains.evm.rpc import Node, Request
from swap_chains.evm.wallet_calls import Transaction


async def by_hash(
    node: Node, scope: LogScope, blocks: Sequence[Block]
) -> tuple[list[BlockAdded], Block | None]:
    """Add the movements to blocks near the head; return also what the chain calls final.

    Logs are queried by block hash, and the same request queries the block itself. A node without
    the block reports that only there; an empty answer would look like a block without logs.
    """
    receivers = scope.receivers()
    requests: list[Request] = []
    for block in blocks:
        requests += [header_of(block.hash), *scope.log_requests({"blockHash": block.hash})]
    size = len(requests) // max(len(blocks), 1)
    requests.append(header_at("finalized"))
    answers = await node.batch(requests, unit=max(size, 1))

    logs: list[Log] = []
    for nth, block in enumerate(blocks):
        header, *found = answers[nth * size : (nth + 1) * size]
        if to_block(node, header) != block:
            raise InconsistentAnswer(node.label, f"two answers about block {block.number}")
        mine = [log for answer in found for log in to_logs(node.label, answer)]
        if any((log.block_hash, log.block_number) != (block.hash, block.number) for log in mine):
            raise InconsistentAnswer(node.label, f"a log of another block than {block.number}")
        logs += [log for log in mine if scope.includes(log, receivers)]
    return await with_movements(node, scope, blocks, logs), finalized_in(node, answers[-1])


def finalized_in(node: Node, answer: Any) -> Block | None:
    """Read what the chain calls final; None where it does not say, as before its first epoch."""
    return None if answer is None or isinstance(answer, NodeRefused) else to_block(node, answer)


async def by_range(
    node: Node, scope: LogScope, *, first: int, last: int
) -> tuple[Block, list[BlockAdded]]:
    """Read a range behind finality: its first block, the blocks with movements, and its last.

    The request includes both end blocks: an empty answer up to a missing block proves nothing.

    :raises NodeRefused: when the node requires a shorter one.
    """
    place = {"fromBlock": to_quantity(first), "toBlock": to_quantity(last)}
    requests = [header_at(first), header_at(last), *scope.log_requests(place)]
    answers = await node.batch(requests, unit=len(requests))
    ends = [to_block(node, answer) for answer in answers[:2]]
    if [block.number for block in ends] != [first, last]:
        raise InconsistentAnswer(node.label, f"not the blocks {first} and {last}")
    wanted = _logs_in_scope(node, scope, answers[2:], scope.receivers())
    numbers = sorted({log.block_number for log in wanted} | {last})
    _check_range(node, numbers, first, last)
    blocks = await headers_at(node, numbers)
    if blocks[-1] != ends[1]:
        raise InconsistentAnswer(node.label, f"two answers about block {last}")
    return ends[0], await with_movements(node, scope, blocks, wanted)


async def transfers_to(
    node: Node, scope: LogScope, *, to: Collection[str], first: int, last: int
) -> list[BlockAdded]:
    """Read the token transfers to these addresses in a range, as the blocks that have some."""
    receivers = frozenset(address.lower() for address in to)
    place = {"fromBlock": to_quantity(first), "toBlock": to_quantity(last)}
    answers = await node.batch([scope.transfers(place, receivers)])
    wanted = _logs_in_scope(node, scope, answers, receivers)
    numbers = sorted({log.block_number for log in wanted})
    _check_range(node, numbers, first, last)
    return await with_movements(node, scope, await headers_at(node, numbers), wanted)


async def logs_of_receipts(
    node: Node, scope: LogScope, block: Block, transaction_hashes: Sequence[str]
) -> Mapping[str, Sequence[Log]]:
    """Read the relevant logs from the receipts of transactions that are in a block.

    The block's own list shows which are: a lost index must not look like a denial.

    :raises InconsistentAnswer: when list and receipts contradict each other.
    """
    requests = [Request("eth_getTransactionReceipt", (h,)) for h in transaction_hashes]
    requests.insert(0, header_of(block.hash))
    header, *receipts = await node.batch(requests, unit=len(requests))
    if to_block(node, header) != block:
        raise InconsistentAnswer(node.label, f"two answers about block {block.number}")
    listed = {str(transaction_hash).lower() for transaction_hash in header["transactions"]}
    receivers = scope.receivers()
    logs: dict[str, Sequence[Log]] = {}
    for transaction_hash, receipt in zip(transaction_hashes, receipts, strict=True):
        if isinstance(receipt, Exception):
            raise receipt
        in_block = receipt is not None and str(receipt["blockHash"]).lower() == block.hash
        if in_block != (transaction_hash in listed):
            what = f"list and receipt of block {block.number} contradict each other"
            raise InconsistentAnswer(node.label, what)
        found = to_logs(node.label, receipt["logs"]) if in_block else []
        logs[transaction_hash] = [log for log in found if scope.includes(log, receivers)]
    return logs


def _logs_in_scope(
    node: Node, scope: LogScope, answers: Iterable[Any], receivers: Container[str]
) -> list[Log]:
    logs: list[Log] = []
    for answer in answers:
        logs += to_logs(node.label, answer)
    return [log for log in logs if scope.includes(log, receivers)]


def _check_range(node: Node, numbers: Sequence[int], first: int, last: int) -> None:
    if numbers and not first <= numbers[0] <= numbers[-1] <= last:
        raise InconsistentAnswer(node.label, f"a log outside of the blocks {first} to {last}")


async def with_movements(
    node: Node, scope: LogScope, blocks: Sequence[Block], logs: Sequence[Log]
) -> list[BlockAdded]:
    """Put the logs into their blocks.

    :raises InconsistentAnswer: when a log's block is not the block of its number.
    """
    senders = await _senders(node, logs)
    of_block: defaultdict[int, list[Log]] = defaultdict(list)
    for number, group in groupby(logs, key=lambda log: log.block_number):
        of_block[number] += group
    added = []
    for block in blocks:
        mine = in_log_order(node.label, of_block[block.number])
        if any(log.block_hash != block.hash for log in mine):
            raise InconsistentAnswer(node.label, f"a log of another block {block.number}")
        if scope.has_blooms:
            _check_bloom(node, block, mine)
        added.append(BlockAdded(block, to_movements(node.label, scope, mine, senders)))
    return await _with_proven_memos(node, scope, added)


def _check_bloom(node: Node, block: Block, logs: Sequence[Log]) -> None:
    if any(not may_contain(block.bloom or "", log.address, log.topics) for log in logs):
        raise InconsistentAnswer(node.label, f"a log that the bloom of {block.number} excludes")


async def _with_proven_memos(
    node: Node, scope: LogScope, added: Sequence[BlockAdded]
) -> list[BlockAdded]:
    """Fetch the transactions of direct transfers: only their call data proves the owner of the
    memo.
    """
    places = {
        transaction_hash: event.block.hash
        for event in added
        for transaction_hash in find_memo_candidates(event.movements, scope.treasury)
    }
    if not places:
        return list(added)
    answers = await node.batch([Request("eth_getTransactionByHash", (h,)) for h in places])
    sent = {
        transaction_hash: _to_transaction(node, answer, transaction_hash, block_hash)
        for (transaction_hash, block_hash), answer in zip(places.items(), answers, strict=True)
    }
    return [
        replace(event, movements=with_proven_memos(event.movements, scope.treasury, sent))
        for event in added
    ]


def _to_transaction(node: Node, answer: Any, transaction_hash: str, block_hash: str) -> Transaction:
    place = (transaction_hash, block_hash)
    if not isinstance(answer, Mapping) or place != tuple(
        str(answer.get(name)).lower() for name in ("hash", "blockHash")
    ):
        raise InconsistentAnswer(node.label, f"no transaction {transaction_hash} in its block")
    try:
        value, data = from_quantity(answer["value"]), from_hex(answer["input"])
        return Transaction(str(answer["from"]), answer["to"], value, data)
    except (KeyError, ValueError) as error:
        raise InconsistentAnswer(node.label, f"a broken transaction: {error!r}") from error


async def _senders(node: Node, logs: Sequence[Log]) -> Mapping[str, str]:
    """Query receipts, not transactions: nodes recover the sender again for each transaction."""
    hashes = deposit_transactions(logs)
    if not hashes:
        return {}
    answers = await node.batch([Request("eth_getTransactionReceipt", (h,)) for h in hashes])
    places = {log.transaction_hash: log.block_hash for log in logs}
    senders = {}
    for transaction_hash, answer in zip(hashes, answers, strict=True):
        if not isinstance(answer, Mapping) or not _is_of(answer, places[transaction_hash]):
            raise InconsistentAnswer(node.label, f"no receipt of {transaction_hash} in its block")
        try:
            senders[transaction_hash] = checksum_address(answer["from"])
        except (KeyError, TypeError, ValueError) as error:
            raise InconsistentAnswer(node.label, f"a broken receipt: {error!r}") from error
    return senders


def _is_of(receipt: Mapping[str, Any], block_hash: str) -> bool:
    # A failed transaction has no logs: if one is reported with a log, the node is false.
    in_block = str(receipt.get("blockHash")).lower() == block_hash
    return in_block and receipt.get("status") == "0x1"
