"""A node with scripted answers: a small chain, and answers that a test can change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from swap_chains.evm import codec
from swap_chains.evm.memos import encode_transfer_with_memo
from swap_chains.evm.rpc import open_session

DEPOSITORY = codec.checksum_address("0x" + "d1" * 20)
TREASURY = codec.checksum_address("0x" + "7e" * 20)
TOKEN = codec.checksum_address("0x" + "70" * 20)
USER = codec.checksum_address("0x" + "05" * 20)
FIXED = {
    "eth_chainId": "0x7a69",
    "eth_getTransactionCount": "0x0",
    "eth_getBalance": "0x0",
    "eth_getCode": "0x",
    "eth_call": "0x",
}


@dataclass
class ScriptedChain:
    """Headers and logs, in the form of a node."""

    blocks: list[dict[str, Any]] = field(default_factory=list)
    logs: list[dict[str, Any]] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)  # call data, by transaction
    finality_depth: int = 1000

    def __post_init__(self) -> None:
        if not self.blocks:
            self.grow(1)

    def grow(self, count: int, *, salt: str = "") -> None:
        for _ in range(count):
            number = len(self.blocks)
            parent = self.blocks[-1]["hash"] if self.blocks else "0x" + "0" * 64
            self.blocks.append(
                {
                    "number": hex(number),
                    "hash": "0x" + codec.keccak(f"{parent}{number}{salt}".encode()).hex(),
                    "parentHash": parent,
                    "timestamp": hex(1_700_000_000 + number),
                    "baseFeePerGas": "0x7",
                }
            )

    def cut(self, count: int) -> None:
        gone = {block["hash"] for block in self.blocks[-count:]}
        del self.blocks[-count:]
        self.logs = [log for log in self.logs if log["blockHash"] not in gone]

    def add_transfer(self, number: int, base_units: int, memo: bytes = b"") -> None:
        data = encode_transfer_with_memo(TREASURY, base_units, memo)
        self.inputs[f"0x{base_units:064x}"] = "0x" + data.hex()
        topics = [codec.TRANSFER, codec.address_topic(USER), codec.address_topic(TREASURY)]
        self._add_log(number, TOKEN, topics, codec.uint_word(base_units), base_units)

    def add_native_deposit(self, number: int, sequence_number: int, base_units: int) -> None:
        topics = [codec.NATIVE_RECEIVED, codec.address_topic(DEPOSITORY)]
        data = b"".join(map(codec.uint_word, (base_units, 64, 0)))
        self._add_log(number, TREASURY, topics, data, sequence_number)
        key = codec.depository_id(sequence_number)
        native, treasury = map(codec.address_topic, (codec.ZERO_ADDRESS, TREASURY))
        topics = [codec.DEPOSITED, key, native, treasury]
        self._add_log(number, DEPOSITORY, topics, codec.uint_word(base_units), sequence_number)

    def _add_log(self, number: int, address: str, topics: list[str], data: bytes, n: int) -> None:
        block = self.blocks[number]
        self.logs.append(
            {
                "address": address.lower(),
                "topics": topics,
                "data": "0x" + data.hex(),
                "blockNumber": block["number"],
                "blockHash": block["hash"],
                "transactionHash": f"0x{n:064x}",
                "logIndex": hex(sum(log["blockHash"] == block["hash"] for log in self.logs)),
                "removed": False,
            }
        )

    def _transactions_in(self, block_hash: str) -> list[str]:
        here = [log["transactionHash"] for log in self.logs if log["blockHash"] == block_hash]
        return list(dict.fromkeys(here))

    def _receipt(self, transaction_hash: str) -> dict[str, Any] | None:
        logs = [log for log in self.logs if log["transactionHash"] == transaction_hash]
        if not logs:
            return None
        place = {"from": USER.lower(), "blockHash": logs[0]["blockHash"]}
        return {**place, "status": "0x1", "logs": logs}

    def answer(self, method: str, params: list[Any]) -> Any:
        match method:
            case _ if method in FIXED:
                return FIXED[method]
            case "eth_getBlockByNumber":
                return self._block_at(params[0])
            case "eth_getBlockByHash":
                block = next((b for b in self.blocks if b["hash"] == params[0]), None)
                return block and {**block, "transactions": self._transactions_in(block["hash"])}
            case "eth_getTransactionReceipt":
                return self._receipt(params[0])
            case "eth_getTransactionByHash":
                log = next(log for log in self.logs if log["transactionHash"] == params[0])
                place = {"hash": params[0], "blockHash": log["blockHash"]}
                sent = {
                    "to": log["address"],
                    "value": "0x0",
                    "input": self.inputs.get(params[0], "0x"),
                }
                return {**place, "from": USER.lower(), **sent}
            case "eth_getLogs":
                return [log for log in self.logs if self._matches(log, params[0])]
        raise AssertionError(method)

    def _block_at(self, place: str) -> Any:
        head = len(self.blocks) - 1
        tags = {"latest": head, "finalized": max(head - self.finality_depth, 0)}
        number = tags[place] if place in tags else int(place, 16)
        return self.blocks[number] if number <= head else None

    def _matches(self, log: dict[str, Any], wanted: dict[str, Any]) -> bool:
        number = int(log["blockNumber"], 16)
        if "blockHash" in wanted:
            here = log["blockHash"] == wanted["blockHash"]
        else:
            here = int(wanted["fromBlock"], 16) <= number <= int(wanted["toBlock"], 16)
        topics = all(
            allowed is None or topic in allowed
            for topic, allowed in zip(log["topics"], wanted["topics"], strict=False)
        )
        return here and topics and log["address"] in wanted["address"]


class ScriptedNode:
    """A node of a ScriptedChain that a test can make lie, refuse or hang."""

    def __init__(self, chain: ScriptedChain) -> None:
        self.chain = chain
        self.requests = 0
        self.methods: list[str] = []
        self.url = ""
        # Each may replace one answer, given the method and parameters.
        self.change: Callable[[str, list[Any], Any], Any] = lambda method, params, answer: answer
        # Replaces the whole body of the answer.
        self.reply: Callable[[Any], Awaitable[web.Response]] | None = None
        # Handles the whole exchange.
        self.stream: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        if self.stream is not None:
            return await self.stream(request)
        requested = orjson.loads(await request.read())
        answers = [
            self._one(a) for a in (requested if isinstance(requested, list) else [requested])
        ]
        body = answers if isinstance(requested, list) else answers[0]
        if self.reply is not None:
            return await self.reply(body)
        return web.Response(body=orjson.dumps(body))

    def _one(self, request: dict[str, Any]) -> dict[str, Any]:
        method, params = request["method"], request["params"]
        self.methods.append(method)
        answer = self.change(method, params, self.chain.answer(method, params))
        key = "error" if isinstance(answer, dict) and "code" in answer else "result"
        return {"jsonrpc": "2.0", "id": request["id"], key: answer}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as opened:
        yield opened


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[ScriptedNode]]]:
    """Start nodes, each with a new chain or with a given one."""
    servers: list[TestServer] = []

    async def start(chain: ScriptedChain | None = None) -> ScriptedNode:
        node = ScriptedNode(chain or ScriptedChain())
        application = web.Application()
        application.router.add_post("/{key}", node.handle)
        server = TestServer(application)
        await server.start_server()
        servers.append(server)
        node.url = str(server.make_url("/secret-key"))
        return node

    yield start
    for server in servers:
        await server.close()
