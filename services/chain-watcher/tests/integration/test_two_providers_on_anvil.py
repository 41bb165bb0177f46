"""The whole process with nodes of two providers; the followed node lies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import psycopg
import pytest
from anvil_stack import NETWORK, Stack, a_stack

from swap_domain.catalogue import NATIVE
from tests.plugins.broker import Broker
from tests.plugins.postgres import emptying
from tests.support.falsifying_node import FalsifyingNode, a_falsifying_node
from tests.support.waiting import block_until

pytestmark = [pytest.mark.connected, pytest.mark.timeout(180)]

TABLES = "movement, chain_block, watch_cursor, past_halt, outbox, inbox, lease"
TIER = 1_000_000  # from this amount a deposit needs finality and two providers
SMALL, LARGE = TIER // 4, 3 * TIER
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


@pytest.fixture
def stack(
    migrate_schema: Callable[[str], str], broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    url = migrate_schema("chain_watcher")
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute(emptying(TABLES))  # each test has a new chain
    with a_stack(url, broker, tmp_path_factory.mktemp("two")) as stack:
        yield stack


@pytest.fixture
def false_node(stack: Stack) -> Iterator[FalsifyingNode]:
    """Return the lying node that a watcher follows, with an honest second one."""
    with a_falsifying_node(stack.node) as false_node, a_watcher(stack, false_node.url, stack.node):
        yield false_node


@contextmanager
def a_watcher(stack: Stack, *nodes: str, **environment: str) -> Iterator[None]:
    catalogue = stack.catalogue(public_nodes=list(nodes), has_blooms=True)
    pause = {"SWAP_CHAIN_WATCHER__SECOND_LOOK_INTERVAL": "PT0.2S"}
    watcher = stack.watcher(catalogue, **pause, **environment)
    try:
        watcher.start()
        yield
    finally:
        watcher.stop()


def transfer(stack: Stack, base_units: int) -> str:
    a = stack.addresses
    return stack.user("DevToken", a["usdc"], "transfer", a["treasury"], base_units)


def pay(stack: Stack, *, intent_id: int) -> str:
    a = stack.addresses
    return stack.owner("Treasury", a["treasury"], "pay", intent_id, NATIVE, a["user"], 5)


def network(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stack.asks("/admin/networks")[1])["networks"][0]
    return found


def mine(stack: Stack, blocks: int) -> None:
    """Mine blocks one by one, each after the chain-watcher has seen the previous one."""

    def is_at_head() -> bool:
        head = int(stack.rpc("eth_blockNumber"), 16)
        return network(stack)["cursor"] == head or bool(network(stack)["halted"])

    for _ in range(blocks):
        stack.rpc("anvil_mine", "0x1")
        block_until(is_at_head)


def is_verified(stack: Stack, transaction_hash: str) -> bool:
    """Whether the other provider has reported it, so that only finality is missing."""
    with psycopg.connect(stack.database_url.replace("+psycopg", "")) as connection:
        query = "SELECT verified_at FROM movement WHERE transaction_hash = %s"
        row = connection.execute(query, [transaction_hash]).fetchone()
    return row is not None and row[0] is not None


def saying(base_units: int) -> Callable[[str, list[Any], Any], Any]:
    """Return a change that makes a small transfer a large one."""

    def change(method: str, params: list[Any], result: Any) -> Any:
        if method != "eth_getLogs":
            return result
        return [
            {**log, "data": f"0x{base_units:064x}"}
            if log["topics"][0] == TRANSFER and int(log["data"], 16) == SMALL
            else log
            for log in result
        ]

    return change


def calling_the_head_final(stack: Stack) -> Callable[[str, list[Any], Any], Any]:
    def change(method: str, params: list[Any], result: Any) -> Any:
        is_asked = method == "eth_getBlockByNumber" and params[0] == "finalized"
        return stack.rpc("eth_getBlockByNumber", "latest", False) if is_asked else result

    return change


@pytest.mark.fault("W1", "W27")
def test_a_false_node_confirms_no_large_deposit(stack: Stack, false_node: FalsifyingNode) -> None:
    """A real one is confirmed; an invented one stays seen, and the network halts."""
    small = transfer(stack, SMALL - 1)
    block_until(lambda: stack.states_of(small) == [("confirmed", 2)])
    large = transfer(stack, LARGE)
    mine(stack, 5)
    block_until(lambda: stack.states_of(large) == [("seen", 1), ("confirmed", 2)])

    # It reports its head as final; the other provider does not yet.
    false_node.change = calling_the_head_final(stack)
    early = transfer(stack, LARGE)
    block_until(lambda: is_verified(stack, early))
    mine(stack, 1)
    assert stack.states_of(early) == [("seen", 1)]
    mine(stack, 5)
    block_until(lambda: stack.states_of(early) == [("seen", 1), ("confirmed", 2)])

    paid = pay(stack, intent_id=4711)
    block_until(lambda: is_verified(stack, paid))
    mine(stack, 1)
    block_until(lambda: stack.states_of(paid)[-1] == ("confirmed", 2))

    false_node.change = saying(LARGE)
    false_movement = transfer(stack, SMALL)
    block_until(lambda: stack.states_of(false_movement))
    assert [body["base_units"] for body in stack.messages_about(false_movement)] == [str(LARGE)]
    mine(stack, 5)
    block_until(lambda: network(stack)["halted"])

    assert "lack 1 of the movements" in network(stack)["halted"]["reason"]
    status, readiness = stack.asks("/readyz")
    assert status == 200  # a rollout that removes the lying node may continue
    assert "NetworkHalted" in readiness
    assert stack.states_of(false_movement) == [("seen", 1)]


def an_operator(name: str) -> dict[str, str]:
    digest = sha256(f"token of {name}".encode()).hexdigest()
    return {"name": name, "role": "operator", "token_sha256": digest}


@pytest.mark.fault("W1")
def test_false_deposits_are_reverted_by_two_operators_without_the_false_node(
    stack: Stack,
) -> None:
    """The network resumes, and the amount that the transaction really moved is credited."""
    with a_falsifying_node(stack.node) as false_node, a_watcher(stack, false_node.url, stack.node):
        false_node.change = saying(LARGE)
        false_movement = transfer(stack, SMALL)
        block_until(lambda: stack.states_of(false_movement))
        mine(stack, 5)
        block_until(lambda: network(stack)["halted"])
    two = {
        "SWAP_OPERATORS": json.dumps([an_operator("ann"), an_operator("ben")]),
        "SWAP_CHAIN_WATCHER__RESUMING_NEEDS_TWO": "true",
    }
    resume = f"/admin/networks/{NETWORK}/resume"
    order = {"take_back": [false_movement], "reason": "a node lies"}
    with (
        a_falsifying_node(stack.node) as correct_node,
        a_watcher(stack, correct_node.url, stack.node, **two),
    ):

        def posts(path: str, by: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
            answer = stack.asks(path, method="POST", token=f"token of {by}", body=body or {})
            return answer[0], json.loads(answer[1])

        status, stored = posts(resume, "ann", order)
        assert (status, stack.states_of(false_movement)) == (202, [("seen", 1)])
        approve = f"/admin/approvals/{stored['proposal']['id']}/approve"
        assert posts(approve, "ann")[0] == 409
        assert stack.states_of(false_movement) == [("seen", 1)]

        assert posts(approve, "ben") == (
            200,
            {
                "network": NETWORK,
                "halted": None,
                "taken_back": [false_movement],
                "taken_back_before": [],
            },
        )

        assert network(stack)["halted"] is None
        mine(stack, 3)
        block_until(lambda: stack.states_of(false_movement)[-1] == ("confirmed", 2))
        changes = [
            (body["base_units"], body["state"]) for body in stack.messages_about(false_movement)
        ]
        assert changes == [
            (str(LARGE), "seen"),
            (str(LARGE), "reverted"),
            (str(SMALL), "seen"),
            (str(SMALL), "confirmed"),
        ]
        _, audit = stack.asks("/admin/audit", token="token of ann")
        orders = [row for row in json.loads(audit)["orders"] if row["outcome"] == "done"]
        assert {(row["operator"], row["reason"]) for row in orders} == {("ben", order["reason"])}
