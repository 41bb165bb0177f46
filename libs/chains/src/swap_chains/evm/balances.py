"""Balances at a block: coins of many accounts with few calls, tokens with a call each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from swap_chains.errors import InconsistentAnswer, NodeRefused
from swap_chains.evm import codec
from swap_chains.evm.rpc import Node, Request, view_request
from swap_chains.ports import Holding

# A program that returns the balances of the addresses behind it. It is called as if it were to
# create a contract, so no contract has to be deployed. It loops over its own code:
#   src = 38, dst = 32
#   do { mem[12:32] = code[src:src+20]; mem[dst] = balance(mem[0:32]); dst += 32; src += 20 }
#   while (src < codesize); return mem[32:dst]
PROGRAM: Final = bytes.fromhex(
    "60266020"  # src dst
    "5b601482600c39"  # codecopy(12, src, 20)
    "6000513181526020019060140190"  # mstore(dst, balance(mload(0))), both go on
    "388210600457602090036020f3"  # again while src < codesize; return(32, dst - 32)
)
# What is returned must not exceed the largest contract, 24,576 bytes: 768 words. 500 leaves a
# margin; such a call needs about 4.8 million gas.
TOGETHER_MAX: Final = 500
# Fewer are queried one by one: that needs no gas, and every node supports it.
TOGETHER_MIN: Final = 20
_WORD: Final = 32


async def read_balances(
    node: Node, holdings: Sequence[Holding], block_hash: str
) -> Mapping[Holding, int]:
    """Return what each account holds at the block.

    :raises NodeRefused: when the node has no state of that block.
    """
    place = {"blockHash": block_hash}
    coins = [holding for holding in holdings if holding.token == codec.ZERO_ADDRESS]
    rest = [holding for holding in holdings if holding.token != codec.ZERO_ADDRESS]
    if len(coins) < TOGETHER_MIN:
        return await _one_by_one(node, holdings, place)
    found = await _read_in_batches(node, coins, place)
    return {**found, **(await _one_by_one(node, rest, place) if rest else {})}


async def _read_in_batches(
    node: Node, coins: Sequence[Holding], place: Mapping[str, str]
) -> Mapping[Holding, int]:
    groups = [coins[n : n + TOGETHER_MAX] for n in range(0, len(coins), TOGETHER_MAX)]
    answers = await node.batch([_call(group, place) for group in groups])
    found: dict[Holding, int] = {}
    for group, answer in zip(groups, answers, strict=True):
        if isinstance(answer, NodeRefused):
            # A node with the state may refuse such a call. So one account is read: a node without
            # the state refuses that, too.
            await _one_by_one(node, group[:1], place)
            return await _one_by_one(node, coins, place)
        found.update(zip(group, _words(node, answer, len(group)), strict=True))
    return found


def _call(group: Sequence[Holding], place: Mapping[str, str]) -> Request:
    code = PROGRAM + b"".join(codec.from_hex(holding.account) for holding in group)
    return Request("eth_call", ({"data": "0x" + code.hex()}, place))


def _words(node: Node, answer: Any, count: int) -> list[int]:
    returned = codec.from_hex(answer)
    if len(returned) != count * _WORD:
        raise InconsistentAnswer(node.label, f"{len(returned)} bytes are not {count} balances")
    return [int.from_bytes(returned[n : n + _WORD], "big") for n in range(0, len(returned), _WORD)]


async def _one_by_one(
    node: Node, holdings: Sequence[Holding], place: Mapping[str, str]
) -> Mapping[Holding, int]:
    answers = await node.batch([_balance(holding, place) for holding in holdings])
    return {h: _units(node, answer) for h, answer in zip(holdings, answers, strict=True)}


def _balance(holding: Holding, place: Mapping[str, str]) -> Request:
    if holding.token == codec.ZERO_ADDRESS:
        return Request("eth_getBalance", (holding.account, place))
    return view_request(holding.token, codec.encode_balance_of(holding.account), place)


def _units(node: Node, answer: Any) -> int:
    if isinstance(answer, Exception):
        raise answer
    if not isinstance(answer, str) or len(answer) <= len("0x"):
        raise InconsistentAnswer(node.label, f"{answer!r} is no balance")
    return codec.from_quantity(answer)
