"""Lookup of a transaction: one suite for the fake and the real port, and its cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from api_factories import a_catalogue
from fake_chains import FakeChainTransactions

from swap_api.swaps.adapters import chain_transactions
from swap_api.swaps.adapters.chain_transactions import EvmChainTransactions
from swap_api.swaps.ports import ChainTransactions
from swap_chains.evm.rpc import open_session
from swap_chains.evm.transaction_lookup import (
    UNKNOWN_TRANSACTION,
    LocatedTransaction,
    TransactionState,
)
from swap_runtime.errors import Unavailable

HASH, OTHER_HASH = "0x" + "ab" * 32, "0x" + "cd" * 32
NETWORK = a_catalogue().network("ETHEREUM_DEVNET")
WAITING = LocatedTransaction(TransactionState.IN_MEMPOOL)
MINED = LocatedTransaction(TransactionState.MINED, 7)
REVERTED = LocatedTransaction(TransactionState.REVERTED, 7)


@dataclass
class OneNode:
    """A node with answers that a test sets, which counts its requests."""

    located: dict[str, LocatedTransaction] = field(default_factory=dict)
    is_away: bool = False
    batches: list[list[str]] = field(default_factory=list)  # the hashes of each request
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    is_held: asyncio.Event | None = None

    async def handle(self, request: web.Request) -> web.Response:
        questions = orjson.loads(await request.read())
        if isinstance(questions, dict):
            return web.json_response({"jsonrpc": "2.0", "id": questions["id"], "result": "0x7a69"})
        self.batches.append([one["params"][0] for one in questions[::2]])
        self.is_asked.set()
        if self.is_held is not None:
            await self.is_held.wait()
        if self.is_away:
            return web.Response(status=502)
        return web.json_response([self._answer(one) for one in questions])

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        transaction_hash = question["params"][0]
        one = self.located.get(transaction_hash, UNKNOWN_TRANSACTION)
        number = None if one.block_number is None else hex(one.block_number)
        result: dict[str, Any] | None = None
        if question["method"] == "eth_getTransactionByHash" and one is not UNKNOWN_TRANSACTION:
            result = {"hash": transaction_hash, "blockNumber": number}
        if question["method"] == "eth_getTransactionReceipt" and number is not None:
            status = "0x0" if one.state is TransactionState.REVERTED else "0x1"
            result = {"transactionHash": transaction_hash, "blockNumber": number, "status": status}
        return {"jsonrpc": "2.0", "id": question["id"], "result": result}


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def node() -> AsyncIterator[tuple[OneNode, str]]:
    node, application = OneNode(), web.Application()
    application.router.add_post("/", node.handle)
    server = TestServer(application)
    await server.start_server()
    yield node, str(server.make_url("/"))
    await server.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as opened:
        yield opened


@pytest.fixture
def evm(
    node: tuple[OneNode, str], session: aiohttp.ClientSession, clock: Clock
) -> EvmChainTransactions:
    return EvmChainTransactions(a_catalogue(), {NETWORK.name: (node[1],)}, session, now=clock)


Report = Callable[[str, LocatedTransaction], None]


@pytest.fixture(params=["fake", "evm"])
def port(
    request: pytest.FixtureRequest, node: tuple[OneNode, str], evm: EvmChainTransactions
) -> tuple[ChainTransactions, Any, Report]:
    """The port with nodes that may be unavailable, and the way to add a transaction to them."""
    if request.param == "evm":
        return evm, node[0], node[0].located.__setitem__
    fake = FakeChainTransactions()
    return fake, fake, lambda h, one: fake.located.__setitem__((NETWORK.name, h), one)


class TestEveryLookup:
    @pytest.mark.parametrize("located", [WAITING, MINED, REVERTED])
    async def test_reports_what_the_node_has(self, port: Any, located: LocatedTransaction) -> None:
        transactions, _, report = port
        report(HASH, located)

        assert await transactions.locate(NETWORK, HASH) == located
        assert await transactions.locate(NETWORK, OTHER_HASH) == UNKNOWN_TRANSACTION

    async def test_is_unavailable_while_no_node_answers(self, port: Any) -> None:
        transactions, nodes, _ = port
        nodes.is_away = True

        with pytest.raises(Unavailable):
            await transactions.locate(NETWORK, HASH)


class TestTheCost:
    async def test_polls_of_one_second_ask_once(
        self, evm: EvmChainTransactions, node: tuple[OneNode, str], clock: Clock
    ) -> None:
        for clock.seconds in (0.0, 0.3, 0.6, 0.9):
            await evm.locate(NETWORK, HASH)
        assert node[0].batches == [[HASH]]

        node[0].located[HASH] = MINED
        clock.seconds = 1.2
        assert await evm.locate(NETWORK, HASH) == MINED

    async def test_lookups_during_a_request_are_sent_together_and_once(
        self, evm: EvmChainTransactions, node: tuple[OneNode, str]
    ) -> None:
        node[0].is_held = asyncio.Event()
        first = asyncio.create_task(evm.locate(NETWORK, HASH))
        await node[0].is_asked.wait()
        rest = [asyncio.create_task(evm.locate(NETWORK, OTHER_HASH)) for _ in range(20)]
        while evm._lookups[NETWORK.name]._waiting < 1 + len(rest):  # noqa: ASYNC110
            await asyncio.sleep(0)
        node[0].is_held.set()
        await asyncio.gather(first, *rest)

        assert node[0].batches == [[HASH], [OTHER_HASH]]

    async def test_nodes_that_do_not_answer_are_not_asked_for_a_second(
        self, evm: EvmChainTransactions, node: tuple[OneNode, str], clock: Clock
    ) -> None:
        node[0].is_away = True
        for _ in range(3):
            with pytest.raises(Unavailable):
                await evm.locate(NETWORK, HASH)
        assert len(node[0].batches) == 1

        node[0].is_away = False
        clock.seconds = 1.1
        assert await evm.locate(NETWORK, HASH) == UNKNOWN_TRANSACTION

    async def test_a_node_that_hangs_is_not_waited_for_and_neither_are_too_many(
        self,
        evm: EvmChainTransactions,
        node: tuple[OneNode, str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(chain_transactions, "ANSWER_SECONDS", 0.1)
        monkeypatch.setattr(chain_transactions, "WAITING_MAX", 2)
        node[0].is_held = asyncio.Event()

        lookups = (evm.locate(NETWORK, f"0x{number:064x}") for number in range(3))
        failures = await asyncio.gather(*lookups, return_exceptions=True)

        assert [type(one) for one in failures] == [Unavailable] * 3
        assert sum("too many" in str(one) for one in failures) == 1
        node[0].is_held.set()

    async def test_number_of_cached_answers_is_limited(
        self, evm: EvmChainTransactions, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(chain_transactions, "CACHED_MAX", 3)

        for number in range(10):
            await evm.locate(NETWORK, f"0x{number:064x}")

        assert len(evm._lookups[NETWORK.name]._cached) == 3
