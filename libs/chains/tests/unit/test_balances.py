"""Coins of many accounts, from nodes that execute undeployed code and from others."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from swap_chains.errors import InconsistentAnswer, NodeRefused
from swap_chains.evm import codec
from swap_chains.evm.balances import TOGETHER_MAX, TOGETHER_MIN, read_balances
from swap_chains.evm.codec import ZERO_ADDRESS
from swap_chains.ports import Holding

BLOCK = "0x" + "b" * 64
REFUSED = NodeRefused("0:node", -32000, "contract creation is not allowed")
PRUNED = NodeRefused("0:node", -32000, "missing trie node")


def coins(count: int) -> list[Holding]:
    return [Holding(codec.checksum_address(f"0x{n + 1:040x}"), ZERO_ADDRESS) for n in range(count)]


@dataclass
class Node:
    """The balance of each account is the number in its address."""

    label: str = "0:node"
    refuses_calls: bool = False
    is_pruned: bool = False
    is_short: bool = False
    requested_methods: list[str] = field(default_factory=list)

    async def batch(self, requests):  # type: ignore[no-untyped-def]
        self.requested_methods += [request.method for request in requests]
        return [self._answer(*request.params, method=request.method) for request in requests]

    def _answer(self, what, place, *, method):  # type: ignore[no-untyped-def]
        assert place == {"blockHash": BLOCK}
        if self.is_pruned:
            return PRUNED
        if method == "eth_getBalance":
            return what
        if self.refuses_calls:
            return REFUSED
        code = bytes.fromhex(what["data"][2:])
        accounts = [code[n : n + 20] for n in range(38, len(code), 20)]
        return "0x" + b"".join(a.rjust(32, b"\0") for a in accounts[self.is_short :]).hex()


@pytest.mark.fault("A11")
@pytest.mark.parametrize(
    ("count", "calls"),
    [(TOGETHER_MIN, 1), (TOGETHER_MAX, 1), (TOGETHER_MAX + 1, 2), (10_000, 20)],
)
async def test_many_accounts_take_few_calls(count: int, calls: int) -> None:
    node = Node()

    balances = await read_balances(node, coins(count), BLOCK)  # type: ignore[arg-type]

    assert list(balances.values()) == list(range(1, count + 1))
    assert node.requested_methods == ["eth_call"] * calls


async def test_few_accounts_are_read_one_by_one() -> None:
    node = Node()
    await read_balances(node, coins(TOGETHER_MIN - 1), BLOCK)  # type: ignore[arg-type]
    assert set(node.requested_methods) == {"eth_getBalance"}


async def test_accounts_are_read_one_by_one_where_a_node_refuses_the_call() -> None:
    node = Node(refuses_calls=True)

    balances = await read_balances(node, coins(30), BLOCK)  # type: ignore[arg-type]

    assert list(balances.values()) == list(range(1, 31))


async def test_a_node_without_the_state_is_asked_for_one_account_only() -> None:
    node = Node(is_pruned=True)

    with pytest.raises(NodeRefused, match="missing trie node"):
        await read_balances(node, coins(2000), BLOCK)  # type: ignore[arg-type]

    assert node.requested_methods.count("eth_getBalance") == 1


async def test_an_answer_of_another_length_is_no_answer() -> None:
    with pytest.raises(InconsistentAnswer, match="are not 30 balances"):
        await read_balances(Node(is_short=True), coins(30), BLOCK)  # type: ignore[arg-type]
