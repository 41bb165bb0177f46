"""Spending from one key on an EVM network."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, Final

import rlp  # type: ignore[import-untyped]

from swap_chains.errors import ChainError, ChainUnavailable, NodeRefused
from swap_chains.evm.codec import WORD, keccak
from swap_chains.evm.keys import Key, LocalKey
from swap_chains.evm.rpc import Node, Request, Rpc
from swap_chains.evm.signatures import FIRST_V
from swap_chains.ports import (
    Broadcast,
    Call,
    Fees,
    LookupResult,
    NodeAnswer,
    Reaction,
    SignedTransaction,
)

_DYNAMIC_FEE_TRANSACTION: Final = b"\x02"  # EIP-1559
_ADDRESS_BYTES: Final = 20


class EvmSender:
    """A ChainSender that spends with one key, wherever that is kept."""

    def __init__(
        self, rpc: Rpc, *, chain_id: int, private_key: str = "", key: Key | None = None
    ) -> None:
        """
        :param private_key: to be kept in memory, where no other key is given.
        :raises ValueError: when that is none.
        """
        self._rpc = rpc
        self._chain_id = chain_id
        self._key = key or LocalKey(private_key)

    def __repr__(self) -> str:
        return f"EvmSender({self.network}, {self.address})"

    @property
    def network(self) -> str:
        return self._rpc.network

    @property
    def address(self) -> str:
        return self._key.address

    async def sign(self, call: Call, *, nonce: int, fees: Fees) -> SignedTransaction:
        fields = [
            _integer(self._chain_id),
            _integer(nonce),
            _integer(fees.max_priority_fee_per_gas),
            _integer(fees.max_fee_per_gas),
            _integer(call.gas_limit),
            _address(call.to),
            _integer(call.value),
            bytes(call.data),
            [],  # accesses no list of slots
        ]
        unsigned = _DYNAMIC_FEE_TRANSACTION + rlp.encode(fields)
        signature = await self._key.sign(keccak(unsigned))
        r, s = (int.from_bytes(signature[n : n + WORD], "big") for n in (0, WORD))
        signed = (signature[-1] - FIRST_V, r, s)
        raw = _DYNAMIC_FEE_TRANSACTION + rlp.encode([*fields, *map(_integer, signed)])
        return SignedTransaction("0x" + keccak(raw).hex(), raw, nonce)

    async def broadcast(self, transactions: Sequence[SignedTransaction]) -> Sequence[Broadcast]:
        if not transactions:
            return []
        columns = await asyncio.gather(*(_send(node, transactions) for node in self._rpc.nodes))
        self._require_any_response(columns)
        rows = zip(*columns, strict=True)
        return [
            Broadcast(transaction.transaction_hash, answers)
            for transaction, answers in zip(transactions, rows, strict=True)
        ]

    async def look_up(self, transaction_hashes: Collection[str]) -> Sequence[LookupResult]:
        hashes = list(dict.fromkeys(transaction_hashes))
        if not hashes:
            return []
        nodes = self._rpc.nodes
        columns = await asyncio.gather(*(_look_up(node, hashes) for node in nodes))
        if all(known is None for column in columns for known in column):
            raise ChainUnavailable(self.network, [f"{node.label}: no answer" for node in nodes])
        return [
            LookupResult(
                transaction_hash,
                known_to=_labels(nodes, row, known=True),
                unknown_to=_labels(nodes, row, known=False),
                unreachable=_labels(nodes, row, known=None),
            )
            for transaction_hash, row in zip(hashes, zip(*columns, strict=True), strict=True)
        ]

    def _require_any_response(self, columns: Sequence[Sequence[NodeAnswer]]) -> None:
        answers = [answer for column in columns for answer in column]
        if all(answer.reaction is Reaction.UNREACHABLE for answer in answers):
            raise ChainUnavailable(self.network, [f"{a.node}: {a.text}" for a in answers])


def _address(text: str) -> bytes:
    """
    :raises ValueError: when it is none.
    """
    address = bytes.fromhex(text.removeprefix("0x"))
    if len(address) != _ADDRESS_BYTES:
        raise ValueError(f"{text} is no address")
    return address


def _integer(value: int) -> bytes:
    """Return the bytes of a number as RLP has them: none in front that is zero.

    :raises OverflowError: when it is negative.
    """
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


async def _send(node: Node, transactions: Sequence[SignedTransaction]) -> list[NodeAnswer]:
    """Send once. What was not plainly accepted is looked up: error texts are hints."""
    requests = [
        Request("eth_sendRawTransaction", ("0x" + transaction.raw.hex(),))
        for transaction in transactions
    ]
    try:
        responses: Sequence[Any] = await node.ask(requests)
    except ChainError as error:
        responses = [error] * len(transactions)
    answers = {
        transaction.transaction_hash: _reaction(node, transaction, response)
        for transaction, response in zip(transactions, responses, strict=True)
    }
    unresolved = [h for h, a in answers.items() if a.reaction is not Reaction.ACCEPTED]
    for transaction_hash, known in zip(unresolved, await _look_up(node, unresolved), strict=True):
        answer = answers[transaction_hash]
        if known:
            answers[transaction_hash] = NodeAnswer(node.label, Reaction.KNOWN, answer.text)
        elif known is None:
            answers[transaction_hash] = NodeAnswer(node.label, Reaction.UNREACHABLE, answer.text)
    return [answers[transaction.transaction_hash] for transaction in transactions]


def _reaction(node: Node, transaction: SignedTransaction, response: Any) -> NodeAnswer:
    if isinstance(response, NodeRefused):
        return NodeAnswer(node.label, Reaction.REJECTED, response.text)
    if isinstance(response, ChainError):
        return NodeAnswer(node.label, Reaction.UNREACHABLE, str(response))
    if str(response).lower() == transaction.transaction_hash:
        return NodeAnswer(node.label, Reaction.ACCEPTED, "")
    return NodeAnswer(node.label, Reaction.UNREACHABLE, f"answered {response!r}")


async def _look_up(node: Node, hashes: Sequence[str]) -> list[bool | None]:
    """Return for each hash whether the node has it; None where it did not answer."""
    try:
        answers = await node.ask([Request("eth_getTransactionByHash", (h,)) for h in hashes])
    except ChainError:
        return [None] * len(hashes)
    return [None if isinstance(a, NodeRefused) else a is not None for a in answers]


def _labels(
    nodes: Sequence[Node], row: Sequence[bool | None], *, known: bool | None
) -> tuple[str, ...]:
    return tuple(node.label for node, answer in zip(nodes, row, strict=True) if answer is known)
