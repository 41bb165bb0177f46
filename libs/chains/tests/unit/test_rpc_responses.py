"""Answers above every possible size, and refusals of too many requests."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import orjson
import pytest
from aiohttp import web

from swap_chains.errors import (
    ChainUnavailable,
    InconsistentAnswer,
    NodeRefused,
    NodeUnreachable,
)
from swap_chains.evm import rpc_responses
from swap_chains.evm.rpc import Node, Request, Rpc
from swap_chains.evm.rpc_responses import MessageTooLarge, as_revert, in_order

CHAIN_ID = Request("eth_chainId")
MEGABYTE = 1 << 20
COMPRESSED = {"gzip": lambda b: gzip.compress(b, 9), "deflate": lambda b: zlib.compress(b, 9)}


@pytest.fixture
def at_most(monkeypatch):
    def set_to(size):
        monkeypatch.setattr(rpc_responses, "ANSWER_BYTES_MAX", size)

    return set_to


def filled(size):
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": "0x" + "0" * size})


def compressed(encoding, body):
    sent = COMPRESSED[encoding](body)  # before any request, because it takes seconds

    async def reply(_):
        return web.Response(body=sent, headers={"content-encoding": encoding})

    return reply


class TestSize:
    @pytest.mark.parametrize("encoding", COMPRESSED)
    async def test_a_small_body_that_unfolds_is_too_much(self, session, serve, at_most, encoding):
        at_most(MEGABYTE)
        node = await serve()
        node.reply = compressed(encoding, filled(64 * MEGABYTE))
        patient = Node(node.url, session, timeout_seconds=600)  # only the size ends the answer

        tracemalloc.start()
        try:
            with pytest.raises(MessageTooLarge):
                await patient.call("eth_chainId")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak < 16 * MEGABYTE

    async def test_a_body_without_an_end_is_left(self, session, serve, at_most):
        at_most(MEGABYTE)
        node, correct_node = await serve(), await serve()
        sent, failures = [], []

        async def endless(request):
            response = web.StreamResponse()
            await response.prepare(request)
            while True:
                await response.write(bytes(MEGABYTE))
                sent.append(MEGABYTE)

        node.stream = endless
        urls = [node.url, correct_node.url]
        rpc = Rpc.to_urls("TESTNET", urls, session, on_failure=failures.append)

        async with asyncio.timeout(2):
            assert await rpc.call("eth_chainId") == "0x7a69"

        assert [type(failure) for failure in failures] == [MessageTooLarge]
        assert len(sent) < 16

    @pytest.mark.parametrize("encoding", COMPRESSED)
    async def test_response_within_the_limit_is_read_whole(self, session, serve, encoding):
        node = await serve()
        node.reply = compressed(encoding, filled(8 * MEGABYTE))

        assert len(await Node(node.url, session).call("eth_chainId")) == 8 * MEGABYTE + 2

    async def test_a_malformed_body_is_not_an_answer(self, session, serve):
        node = await serve()

        async def reply(_):
            return web.Response(body=b"no gzip", headers={"content-encoding": "gzip"})

        node.reply = reply
        with pytest.raises(NodeUnreachable):
            await Node(node.url, session).call("eth_chainId")

    async def test_response_of_too_many_objects_is_not_parsed(self, session, serve):
        node = await serve()

        async def reply(_):
            return web.Response(body=b"[" + b"[]," * MEGABYTE + b"[]]")

        node.reply = reply
        with pytest.raises(NodeUnreachable, match="objects"):
            await Node(node.url, session).call("eth_chainId")

    async def test_answers_that_are_too_large_together_are_requested_in_parts(
        self, session, serve, at_most
    ):
        at_most(100_000)
        node = await serve()
        node.change = lambda method, params, answer: "0x" + "0" * 10_000

        found = await Node(node.url, session).batch([CHAIN_ID] * 40)

        assert len(found) == 40

    async def test_too_large_result_does_not_affect_other_calls(self, session, serve, at_most):
        at_most(100_000)
        node = await serve()
        node.change = lambda method, params, answer: (
            "0x" + "0" * 200_000 if method == "eth_getLogs" else answer
        )
        rpc = Rpc.to_urls("TESTNET", [node.url], session, rounds=1, coalesces_requests=True)
        logs = {"blockHash": "0x", "address": [], "topics": []}

        too_much, chain_id = await asyncio.gather(
            rpc.call("eth_getLogs", logs), rpc.call("eth_chainId"), return_exceptions=True
        )

        assert isinstance(too_much, ChainUnavailable)
        assert chain_id == "0x7a69"


def erigon(limit, batch):
    text = f"batch limit {limit} exceeded (can increase by --rpc.batch.limit)"
    return {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": text}}


def geth(limit, batch):
    error = {"code": -32600, "message": "batch too large"}
    return [{"jsonrpc": "2.0", "id": batch[0]["id"], "error": error}]


class TestBatchesThatAreTooLong:
    @pytest.mark.parametrize(
        "refusal",
        [
            pytest.param(erigon, id="erigon to 3.3: one error"),
            pytest.param(lambda *args: [erigon(*args)], id="erigon: a list of one error"),
            pytest.param(geth, id="geth: the error is the first one's answer"),
        ],
    )
    async def test_are_sent_in_parts_and_the_size_is_remembered(self, session, serve, refusal):
        node = await serve()
        sizes = limit_to(node, 100, refusal)
        client_node = Node(node.url, session)

        assert await client_node.batch([CHAIN_ID] * 300) == ["0x7a69"] * 300
        assert sizes[:2] == [250, 125]
        del sizes[:]
        assert await client_node.batch([CHAIN_ID] * 300) == ["0x7a69"] * 300

        assert max(sizes) <= 100

    async def test_a_413_is_such_a_refusal_too(self, session, serve):
        node = await serve()

        async def reply(responses):
            is_long = isinstance(responses, list) and len(responses) > 10
            return web.Response(status=413 if is_long else 200, body=orjson.dumps(responses))

        node.reply = reply

        assert len(await Node(node.url, session).batch([CHAIN_ID] * 30)) == 30

    async def test_the_size_grows_again_when_the_node_takes_more(self, session, serve):
        node = await serve()
        limit_to(node, 3, erigon)
        client_node = Node(node.url, session)
        await client_node.batch([CHAIN_ID] * 250)
        sizes = limit_to(node, 1000, erigon)

        for _ in range(70):
            await client_node.batch([CHAIN_ID] * 250)

        assert sizes[-1] == 250

    async def test_a_busy_node_that_refuses_a_whole_batch_is_skipped(self, session, serve):
        node, free = await serve(), await serve()
        error = {"code": -32005, "message": "rate limited"}

        async def reply(_):
            return web.Response(body=orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error}))

        node.reply = reply
        rpc = Rpc.to_urls("TESTNET", [node.url, free.url], session)

        assert await rpc.batch([CHAIN_ID] * 4) == ["0x7a69"] * 4
        assert node.requests == 1

    async def test_a_limit_reported_as_busy_counts_as_a_limit(self, session, serve):
        node = await serve()
        limited = {"code": -32005, "message": "batch size limit exceeded"}
        limit_to(node, 10, lambda *_: {"jsonrpc": "2.0", "id": None, "error": limited})

        assert await Node(node.url, session).batch([CHAIN_ID] * 30) == ["0x7a69"] * 30

    async def test_calls_of_one_unit_are_never_in_two_batches(self, session, serve):
        node = await serve()
        sizes = limit_to(node, 100, erigon)

        assert len(await Node(node.url, session).batch([CHAIN_ID] * 301, unit=3)) == 301
        assert [size % 3 for size in sizes[:-1]] == [0] * (len(sizes) - 1)

        limit_to(node, 2, erigon)
        with pytest.raises(NodeRefused):
            await Node(node.url, session).batch([CHAIN_ID] * 3, unit=3)


def limit_to(node, limit, refusal):
    sizes = []

    async def reply(responses):
        batch = responses if isinstance(responses, list) else [responses]
        sizes.append(len(batch))
        body = responses if len(batch) <= limit else refusal(limit, batch)
        if isinstance(body, list) and not isinstance(responses, list):
            (body,) = body
        return web.Response(body=orjson.dumps(body))

    node.reply = reply
    return sizes


class TestWords:
    @pytest.mark.parametrize("id_", [[], {}, "1", 1.5, None])
    def test_an_id_of_another_kind_belongs_to_no_swap(self, id_):
        with pytest.raises(InconsistentAnswer):
            in_order("0:node", [{"id": id_, "result": "0x1"}], 1, 1)

    @pytest.mark.parametrize(
        ("data", "returned"),
        [
            ("0x08c379a0", b"\x08\xc3\x79\xa0"),
            ("Reverted 0x7a933234", b"\x7a\x93\x32\x34"),
            ("Reverted 0x", b""),
            ("revert: no", b""),
            ("revert", b""),
        ],
    )
    def test_nethermind_has_its_own_form_of_a_reverted_call(self, data, returned):
        error = {"code": -32015, "message": "VM execution error.", "data": data}
        (refusal,) = in_order("0:node", [{"id": 1, "error": error}], 1, 1)

        revert = as_revert(refusal)

        assert revert is not None
        assert revert.data == returned
