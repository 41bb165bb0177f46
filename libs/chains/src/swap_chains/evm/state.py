"""Questions about an EVM network's state, each pinned to a block where it can be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

from swap_chains.errors import (
    BlockUnknown,
    ChainError,
    ChainUnavailable,
    InconsistentAnswer,
    NodeRefused,
)
from swap_chains.events import Block
from swap_chains.evm import codec
from swap_chains.evm.balances import read_balances
from swap_chains.evm.blocks import find_header, header_at, headers_at, to_block
from swap_chains.evm.provider_agreement import (
    final_block,
    of_each_provider,
    of_two_providers,
    read_from_two_providers,
)
from swap_chains.evm.rpc import Node, Request, Rpc, read_from
from swap_chains.evm.rpc_responses import as_revert
from swap_chains.ports import (
    Call,
    CallSimulation,
    Fees,
    FoundTransaction,
    Holding,
    NodeReceipt,
    Receipt,
)

T = TypeVar("T")

_BASE_FEE_HEADROOM: Final = 2  # covers five full blocks in a row


class EvmState:
    """Reads what a network's accounts and contracts are, without following it."""

    def __init__(self, rpc: Rpc, *, needs_two: bool = False) -> None:
        """
        :param needs_two: what is pinned to a block or a transaction counts only if two providers
            report it alike, where there are two. Finality always does.
        """
        self._rpc = rpc
        self._needs_two = needs_two
        self._finalized: Block | None = None

    @property
    def network(self) -> str:
        return self._rpc.network

    async def head(self, *, at_least: int = 0) -> Block:
        behind: list[Block] = []

        async def read(node: Node) -> Block:
            block = await _require_header(node, "latest")
            if block.number < at_least:
                behind.append(block)
                raise InconsistentAnswer(node.label, f"its head is {block.number}")
            return block

        try:
            return await self._on_one_node(read)
        except ChainUnavailable:
            if not behind:
                raise
            return max(behind, key=lambda block: block.number)

    async def final_block(self) -> Block:
        claim = await final_block(self._rpc)
        if self._finalized is None or claim.number > self._finalized.number:
            self._finalized = claim
        return self._finalized

    async def block_at(self, number: int) -> Block:
        block = await self._read_pinned(lambda node: find_header(node, number))
        if block is None:
            raise BlockUnknown(self.network, number)
        return block

    async def nonce(self, account: str, *, at: Block) -> int:
        place = {"blockHash": at.hash}
        return await self._read_pinned(lambda node: _quantity(node, account, place))

    async def pending_nonce(self, account: str) -> int:
        return await self._on_one_node(lambda node: _quantity(node, account, "pending"))

    async def highest_nonce(self, account: str) -> int:
        requests = [
            Request("eth_getTransactionCount", (account, tag)) for tag in ("latest", "pending")
        ]

        async def read(node: Node) -> int:
            return max(
                codec.from_quantity(answer) for answer in _known_answers(await node.batch(requests))
            )

        try:
            return max(await of_two_providers(self._rpc, read))
        except NodeRefused as refusal:
            raise ChainUnavailable(self.network, [str(refusal)]) from refusal

    async def balances(self, holdings: Collection[Holding], *, at: Block) -> Mapping[Holding, int]:
        unique = list(dict.fromkeys(holdings))
        return await self._read_pinned(lambda node: read_balances(node, unique, at.hash))

    async def balances_of_each_provider(
        self, holdings: Collection[Holding], *, at: Block
    ) -> Mapping[str, Mapping[Holding, int]]:
        unique = list(dict.fromkeys(holdings))
        reports, _ = await of_each_provider(
            self._rpc, lambda node: read_balances(node, unique, at.hash)
        )
        return reports

    async def call(self, call: Call, *, sender: str, at: Block) -> bytes:
        return await self._on_one_node(
            lambda node: _call_result(
                node, [_call("eth_call", call, sender, {"blockHash": at.hash})]
            )
        )

    async def estimate_gas(self, call: Call, *, sender: str) -> int:
        request = _call("eth_estimateGas", call, sender)
        return int.from_bytes(
            await self._on_one_node(lambda node: _call_result(node, [request])), "big"
        )

    async def simulate(
        self, calls: Sequence[Call], *, sender: str, at: Block | None = None
    ) -> Sequence[CallSimulation]:
        place = "latest" if at is None else {"blockHash": at.hash}
        requests = [_call("eth_call", call, sender, place, call.gas_limit) for call in calls]

        async def read(node: Node) -> list[CallSimulation]:
            return [_to_simulation(node, answer) for answer in await node.batch(requests)]

        return await self._read_pinned(read)

    async def with_code(self, accounts: Collection[str]) -> frozenset[str]:
        unique = list(dict.fromkeys(accounts))

        async def read(node: Node) -> frozenset[str]:
            requests = [Request("eth_getCode", (account, "latest")) for account in unique]
            answers = zip(unique, await node.batch(requests), strict=True)
            return frozenset(account for account, code in answers if _bytes(code))

        return await self._on_one_node(read)

    async def receipts(self, transaction_hashes: Collection[str]) -> Mapping[str, Receipt]:
        hashes = list(dict.fromkeys(transaction_hashes))
        return await self._read_pinned(lambda node: _receipts(node, hashes))

    async def receipts_of_each_node(
        self, transaction_hashes: Collection[str]
    ) -> Mapping[str, Sequence[NodeReceipt]]:
        hashes = list(dict.fromkeys(transaction_hashes))
        nodes = self._rpc.nodes
        responses = await asyncio.gather(*(_receipts_or_nothing(node, hashes) for node in nodes))
        if all(receipts is None for receipts in responses):
            raise ChainUnavailable(self.network, [f"{node.label}: no answer" for node in nodes])
        return {
            h: tuple(
                NodeReceipt(
                    node.label, receipts is not None, (receipts or {}).get(h), node.provider
                )
                for node, receipts in zip(nodes, responses, strict=True)
            )
            for h in hashes
        }

    async def transactions(
        self, transaction_hashes: Collection[str]
    ) -> Mapping[str, FoundTransaction]:
        hashes = list(dict.fromkeys(transaction_hashes))

        async def read(node: Node) -> Mapping[str, FoundTransaction]:
            requests = [Request("eth_getTransactionByHash", (h,)) for h in hashes]
            found = [_to_found_transaction(a) for a in _known_answers(await node.batch(requests))]
            return {transaction.transaction_hash: transaction for transaction in found}

        return await self._read_pinned(read)

    async def transactions_between(self, *, first: int, last: Block) -> Sequence[FoundTransaction]:
        async def read(node: Node) -> Sequence[FoundTransaction]:
            places = [(codec.to_quantity(number), True) for number in range(first, last.number)]
            requests = [Request("eth_getBlockByNumber", place) for place in places]
            requests.append(Request("eth_getBlockByHash", (last.hash, True)))
            answers = await node.batch(requests)
            blocks = [to_block(node, answer) for answer in answers]
            if blocks[-1] != last or any(a.hash != b.parent_hash for a, b in pairwise(blocks)):
                raise InconsistentAnswer(node.label, f"other blocks than those up to {last.hash}")
            return [
                _to_found_transaction(sent) for answer in answers for sent in answer["transactions"]
            ]

        return await self._on_one_node(read)

    async def fees(self) -> Fees:
        async def read(node: Node) -> Fees:
            header, tip = await node.batch(
                [header_at("latest"), Request("eth_maxPriorityFeePerGas")]
            )
            if not isinstance(header, Mapping) or "baseFeePerGas" not in header:
                raise InconsistentAnswer(node.label, "no base fee")
            # A network without the method takes any tip.
            priority = 0 if isinstance(tip, NodeRefused) else codec.from_quantity(tip)
            base = codec.from_quantity(header["baseFeePerGas"])
            return Fees(base * _BASE_FEE_HEADROOM + priority, priority)

        return await self._on_one_node(read)

    async def _read_pinned(self, work: Callable[[Node], Awaitable[T]]) -> T:
        if not self._needs_two:
            return await self._on_one_node(work)
        try:
            return await read_from_two_providers(self._rpc, work)
        except NodeRefused as refusal:
            raise ChainUnavailable(self.network, [str(refusal)]) from refusal

    async def _on_one_node(
        self, work: Callable[[Node], Awaitable[T]], *, excluded_providers: Collection[str] = ()
    ) -> T:
        try:
            return await self._rpc.on_one_node(work, excluded_providers=excluded_providers)
        except NodeRefused as refusal:
            raise ChainUnavailable(self.network, [str(refusal)]) from refusal


async def _quantity(node: Node, account: str, place: object) -> int:
    return codec.from_quantity(await node.call("eth_getTransactionCount", account, place))


async def _require_header(node: Node, tag: str) -> Block:
    block = await find_header(node, tag)
    if block is None:
        raise InconsistentAnswer(node.label, f"no {tag} block")
    return block


def _call(method: str, call: Call, sender: str, place: Any = "latest", gas: int = 0) -> Request:
    message = {
        "from": sender,
        "to": call.to,
        "value": codec.to_quantity(call.value),
        "data": "0x" + call.data.hex(),
    }
    if gas:
        message["gas"] = codec.to_quantity(gas)
    return Request(method, (message, place))


async def _call_result(node: Node, requests: Sequence[Request]) -> bytes:
    (answer,) = await node.batch(requests)
    if isinstance(answer, NodeRefused):
        raise as_revert(answer) or answer
    return _bytes(answer)


def _to_simulation(node: Node, answer: Any) -> CallSimulation:
    if not isinstance(answer, NodeRefused):
        return CallSimulation(succeeded=True, is_revert=False, data=_bytes(answer), text="")
    revert = as_revert(answer)
    return CallSimulation(
        succeeded=False,
        is_revert=revert is not None,
        data=revert.data if revert else b"",
        text=answer.text,
    )


def _bytes(answer: Any) -> bytes:
    digits = answer[2:]
    return codec.from_hex(answer if len(digits) % 2 == 0 else "0x0" + digits)


def _known_answers(answers: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return what is known.

    :raises NodeRefused: when the node does not say, as while it builds its index.
    """
    for answer in answers:
        if isinstance(answer, NodeRefused):
            raise answer
    return [answer for answer in answers if answer is not None]


async def _receipts(node: Node, hashes: Sequence[str]) -> Mapping[str, Receipt]:
    requests = [Request("eth_getTransactionReceipt", (h,)) for h in hashes]
    answers = _known_answers(await node.batch(requests))
    numbers = sorted({codec.from_quantity(a["blockNumber"]) for a in answers})
    blocks = {block.hash: block for block in await headers_at(node, numbers)}
    return {
        a["transactionHash"].lower(): _receipt(a, blocks[a["blockHash"].lower()])
        for a in answers
        # A receipt of a block that was replaced meanwhile is no receipt any more.
        if a["blockHash"].lower() in blocks
    }


async def _receipts_or_nothing(node: Node, hashes: Sequence[str]) -> Mapping[str, Receipt] | None:
    try:
        return await read_from(node, lambda node: _receipts(node, hashes))
    except ChainError:
        return None


def _receipt(answer: Mapping[str, Any], block: Block) -> Receipt:
    gas_used = codec.from_quantity(answer["gasUsed"])
    price = codec.from_quantity(answer["effectiveGasPrice"])
    return Receipt(
        block=block,
        succeeded=codec.from_quantity(answer["status"]) == 1,
        gas_used=gas_used,
        # OP-stack networks charge for their data apart from gas, and say so only here.
        fee_base_units=gas_used * price + codec.from_quantity(answer.get("l1Fee") or "0x0"),
    )


def _to_found_transaction(answer: Mapping[str, Any]) -> FoundTransaction:
    to, number = answer.get("to"), answer.get("blockNumber")
    return FoundTransaction(
        transaction_hash=answer["hash"].lower(),
        from_address=codec.checksum_address(answer["from"]),
        to_address=codec.checksum_address(to) if to else None,
        nonce=codec.from_quantity(answer["nonce"]),
        value=codec.from_quantity(answer["value"]),
        data=codec.from_hex(answer["input"]),
        block_number=None if number is None else codec.from_quantity(number),
        block_hash=None if number is None else answer["blockHash"].lower(),
    )
