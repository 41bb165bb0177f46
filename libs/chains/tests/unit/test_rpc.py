from __future__ import annotations

import asyncio
import random

import orjson
import pytest
from aiohttp import web

from swap_chains.errors import (
    ChainUnavailable,
    InconsistentAnswer,
    NodeRefused,
    NodeUnreachable,
)
from swap_chains.evm.providers import providers_of
from swap_chains.evm.rpc import Backoff, Node, Request, Rpc
from swap_chains.evm.rpc_responses import as_revert

CHAIN_ID = Request("eth_chainId")
HEAD = Request("eth_getBlockByNumber", ("latest", False))


def rpc_of(session, *nodes, rounds=1, timeout_seconds=30, **options):
    urls = [node.url for node in nodes]
    options |= {"rounds": rounds, "timeout_seconds": timeout_seconds}
    return Rpc.to_urls("TESTNET", urls, session, **options)


def answering(status=200, body=None):
    async def reply(answers):
        content = answers if body is None else body(answers)
        return web.Response(status=status, body=orjson.dumps(content))

    return reply


class TestBeforeCall:
    async def test_is_called_before_every_request(self, session, serve):
        node, calls = await serve(), []
        urls = [node.url]
        rpc = Rpc.to_urls(
            "TESTNET",
            urls,
            session,
            batch_max=2,
            before_call=lambda: calls.append(node.requests),
        )

        await rpc.batch([CHAIN_ID] * 3)
        await rpc.call("eth_chainId")

        assert calls == [0, 0, 1, 2, 2]

    async def test_its_exception_is_no_failure_of_a_node(self, session, serve):
        def forbid():
            raise PermissionError

        nodes, reported_failures = [await serve(), await serve()], []
        rpc = Rpc.to_urls(
            "TESTNET",
            [node.url for node in nodes],
            session,
            on_failure=reported_failures.append,
            before_call=forbid,
        )

        with pytest.raises(PermissionError):
            await rpc.call("eth_chainId")
        assert (reported_failures, [node.requests for node in nodes]) == ([], [0, 0])


class TestBatch:
    async def test_answers_in_any_order_find_their_questions(self, session, serve):
        node = await serve()
        node.reply = answering(body=lambda answers: answers[::-1])

        chain_id, head = await rpc_of(session, node).batch([CHAIN_ID, HEAD])

        assert chain_id == "0x7a69"
        assert head["number"] == "0x0"

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda a: [{**a[0], "id": 99_999}, a[1]], id="an unknown id"),
            pytest.param(lambda a: [a[0], a[0]], id="an id twice"),
            pytest.param(lambda a: a[:1], id="too few"),
            pytest.param(lambda a: [*a, a[0]], id="too many"),
            pytest.param(lambda a: [{**a[0], "id": str(a[0]["id"])}, a[1]], id="an id as text"),
            pytest.param(lambda a: ["what", a[1]], id="no object"),
            pytest.param(lambda a: [{"id": a[0]["id"]}, a[1]], id="no result"),
            pytest.param(lambda a: a[0], id="one for all"),
        ],
    )
    async def test_answers_to_other_requests_are_rejected(self, session, serve, spoil):
        false_node, correct_node = await serve(), await serve()
        false_node.reply = answering(body=spoil)

        with pytest.raises(InconsistentAnswer):
            await Node(false_node.url, session).batch([CHAIN_ID, HEAD])
        assert (
            await rpc_of(session, false_node, correct_node).batch([CHAIN_ID, CHAIN_ID])
            == ["0x7a69"] * 2
        )

    async def test_a_refusal_stands_in_the_place_of_its_question(self, session, serve):
        node = await serve()
        refusal = {"code": -32000, "message": "no"}
        node.change = lambda method, params, answer: refusal if method == "eth_chainId" else answer

        refused, head = await rpc_of(session, node).batch([CHAIN_ID, HEAD])

        assert isinstance(refused, NodeRefused)
        assert (refused.code, refused.text) == (-32000, "no")
        assert head["number"] == "0x0"

    async def test_a_batch_refused_as_a_whole_is_a_refusal_of_each(self, session, serve):
        node = await serve()
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "too large"}}
        node.reply = answering(body=lambda answers: error)

        answers = await rpc_of(session, node).batch([CHAIN_ID, HEAD])

        assert [(type(a), a.text) for a in answers] == [(NodeRefused, "too large")] * 2

    async def test_a_long_batch_goes_out_in_parts(self, session, serve):
        node = await serve()

        answers = await Node(node.url, session, batch_max=10).batch([CHAIN_ID] * 25)

        assert len(answers) == 25
        assert node.requests == 3


class TestRequestCoalescing:
    async def test_calls_of_one_loop_turn_are_one_request(self, session, serve):
        node = await serve()
        rpc = rpc_of(session, node, coalesces_requests=True)

        chain_id, [again, head] = await asyncio.gather(
            rpc.call("eth_chainId"), rpc.batch([CHAIN_ID, HEAD])
        )

        assert (chain_id, again, head["number"]) == ("0x7a69", "0x7a69", "0x0")
        assert node.requests == 1

    async def test_refusal_of_one_call_does_not_affect_other_calls(self, session, serve):
        node = await serve()
        refusal = {"code": -32000, "message": "no"}
        node.change = lambda method, params, answer: refusal if method == "eth_chainId" else answer
        rpc = rpc_of(session, node, coalesces_requests=True)

        refused, [head] = await asyncio.gather(
            rpc.call("eth_chainId"), rpc.batch([HEAD]), return_exceptions=True
        )

        assert isinstance(refused, NodeRefused)
        assert head["number"] == "0x0"

    async def test_calls_are_sent_separately_where_a_node_refuses_the_batch(self, session, serve):
        node = await serve()
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "too large"}}

        def reply(answers):
            return error if isinstance(answers, list) else answers

        node.reply = answering(body=reply)
        rpc = rpc_of(session, node, coalesces_requests=True)

        assert await asyncio.gather(*(rpc.call("eth_chainId") for _ in range(3))) == ["0x7a69"] * 3
        assert node.requests == 1 + 3

    async def test_a_cancelled_caller_does_not_cancel_others(self, session, serve):
        rpc = rpc_of(session, await serve(), coalesces_requests=True)
        one, other = (asyncio.create_task(rpc.call("eth_chainId")) for _ in range(2))
        await asyncio.sleep(0)  # both have sent, and neither is done

        one.cancel()

        assert await other == "0x7a69"
        assert one.cancelled()

    async def test_an_abandoned_request_is_not_sent(self, session, serve):
        node = await serve()
        asking = asyncio.create_task(
            rpc_of(session, node, coalesces_requests=True).call("eth_chainId")
        )
        await asyncio.sleep(0)

        asking.cancel()
        await asyncio.sleep(0.05)

        assert node.requests == 0

    async def test_is_off_by_default(self, session, serve):
        node = await serve()
        rpc = rpc_of(session, node)

        await asyncio.gather(rpc.call("eth_chainId"), rpc.call("eth_chainId"))

        assert node.requests == 2

    async def test_a_node_that_is_away_is_away_for_all(self, session, serve):
        node = await serve()
        node.reply = answering(status=503)
        rpc = rpc_of(session, node, coalesces_requests=True)

        found = await asyncio.gather(
            *(rpc.call("eth_chainId") for _ in range(2)), return_exceptions=True
        )

        assert [type(one) for one in found] == [ChainUnavailable] * 2
        assert node.requests == 1


class TestFailover:
    async def test_node_that_replaces_a_failed_one_stays_in_use(self, session, serve):
        down, up = await serve(), await serve()
        down.reply = answering(status=503)
        rpc = rpc_of(session, down, up)

        assert await rpc.call("eth_chainId") == "0x7a69"
        assert await rpc.call("eth_chainId") == "0x7a69"

        assert (down.requests, up.requests) == (1, 2)

    @pytest.mark.parametrize("status", [302, 401, 404, 413, 429, 500, 502])
    @pytest.mark.fault("W28")
    async def test_only_a_plain_answer_counts(self, session, serve, status):
        node = await serve()
        node.reply = answering(status=status)

        with pytest.raises(NodeUnreachable):
            await Node(node.url, session).call("eth_chainId")

    @pytest.mark.parametrize("code", [-32603, -32005, -32002])
    @pytest.mark.fault("W28")
    async def test_a_node_in_trouble_is_passed_over(self, session, serve, code):
        busy, free = await serve(), await serve()
        busy.change = lambda *_: {"code": code, "message": "later"}

        assert await rpc_of(session, busy, free).call("eth_chainId") == "0x7a69"

    @pytest.mark.parametrize("text", ["EVM error OutOfGas", "out of gas: out of gas"])
    async def test_a_call_that_uses_up_its_gas_is_no_trouble_of_the_node(
        self, session, serve, text
    ):
        node, other = await serve(), await serve()
        node.change = lambda *_: {"code": -32603, "message": text}

        with pytest.raises(NodeRefused, match=text):
            await rpc_of(session, node).call("eth_chainId")
        [answer] = await rpc_of(session, node, other).batch([CHAIN_ID])

        assert isinstance(answer, NodeRefused)

    @pytest.mark.fault("W28")
    async def test_a_node_that_hangs_costs_its_timeout_only(self, session, serve):
        hung, free = await serve(), await serve()

        async def hang(answers):
            await asyncio.sleep(60)

        hung.reply = hang
        async with asyncio.timeout(30):
            rpc = rpc_of(session, hung, free, timeout_seconds=1)
            assert await rpc.call("eth_chainId") == "0x7a69"

    async def test_call_that_all_nodes_refuse_is_refused_after_one_round(self, session, serve):
        nodes = [await serve(), await serve()]
        for node in nodes:
            node.change = lambda *_: {"code": -32601, "message": "Method not found"}

        with pytest.raises(NodeRefused):
            await rpc_of(session, *nodes, rounds=3).call("eth_chainId")

        assert [node.requests for node in nodes] == [1, 1]

    async def test_names_every_cause_but_no_key_when_no_node_answers(self, session, serve):
        nodes = [await serve(), await serve()]
        for node in nodes:
            node.reply = answering(status=500)
        rpc = rpc_of(session, *nodes)

        with pytest.raises(ChainUnavailable) as caught:
            await rpc.call("eth_chainId")

        assert len(caught.value.causes) == 2
        assert "secret-key" not in f"{caught.value} {rpc.nodes}"

    async def test_every_failure_of_a_node_is_reported(self, session, serve):
        down, up = await serve(), await serve()
        down.reply = answering(status=503)
        reported_failures = []
        urls = [down.url, up.url]
        rpc = Rpc.to_urls("TESTNET", urls, session, on_failure=reported_failures.append)

        assert await rpc.call("eth_chainId") == "0x7a69"

        (failure,) = reported_failures
        assert "HTTP 503" in str(failure)

    async def test_reads_are_tried_again(self, session, serve):
        node = await serve()
        statuses = iter([500, 500, 200])

        async def recovering(answers):
            return web.Response(status=next(statuses), body=orjson.dumps(answers))

        node.reply = recovering
        nodes = [Node(node.url, session)]
        rpc = Rpc("TESTNET", nodes, rounds=3, backoff=Backoff(0.001))

        assert await rpc.call("eth_chainId") == "0x7a69"

    async def test_a_unit_of_work_never_mixes_two_nodes(self, session, serve):
        first, second = await serve(), await serve()
        second.chain.grow(5)
        first.change = lambda method, params, answer: (
            {"code": -32603, "message": "later"} if method == "eth_chainId" else answer
        )

        async def read(node):
            head = await node.call("eth_getBlockByNumber", "latest", False)
            await node.call("eth_chainId")
            return head["number"]

        assert await rpc_of(session, first, second).on_one_node(read) == "0x5"


class TestSecondOpinion:
    async def test_is_never_given_by_the_provider_of_the_first(self, session, serve):
        one, other = await serve(), await serve()
        rpc = rpc_of(session, one, other)
        first = {rpc.nodes[0].provider}

        await rpc.on_one_node(lambda node: node.call("eth_chainId"), excluded_providers=first)
        assert (one.requests, other.requests) == (0, 1)

        other.reply = answering(status=503)
        with pytest.raises(ChainUnavailable):
            await rpc.on_one_node(lambda node: node.call("eth_chainId"), excluded_providers=first)
        assert one.requests == 0

    async def test_does_not_change_the_node_in_use(self, session, serve):
        one, two, three = await serve(), await serve(), await serve()
        rpc = rpc_of(session, one, two, three)
        two.reply = answering(status=503)

        excluded_providers = {rpc.nodes[0].provider}
        await rpc.on_one_node(
            lambda node: node.call("eth_chainId"), excluded_providers=excluded_providers
        )

        assert rpc.in_use is rpc.nodes[0]

    @pytest.mark.parametrize(
        ("urls", "providers"),
        [
            (["https://a.example/v1/key", "https://A.example./v2/other"], ["a.example"]),
            (["https://a.example:8545", "https://a.example:8546"], ["a.example"]),
            (["https://a.example", "https://b.example"], ["a.example", "b.example"]),
            (["http://127.0.0.1:1", "http://127.0.0.1:2"], ["127.0.0.1:1", "127.0.0.1:2"]),
            (["http://localhost:1", "http://[::1]:1"], ["localhost:1", "::1:1"]),
        ],
    )
    def test_two_addresses_of_one_host_are_one_provider(self, urls, providers):
        assert providers_of(urls) == tuple(providers)


class TestClassification:
    @pytest.mark.parametrize(
        ("code", "text", "data", "is_revert"),
        [
            (3, "execution reverted", b"", True),
            (3, "anything", None, True),
            (-32000, "execution reverted", None, True),
            (-32015, "VM execution error: Reverted", None, True),
            (-32603, "Internal error", b"\x01", True),
            (-32000, "insufficient funds for gas", None, False),
            (-32601, "revert is no method", None, False),
        ],
    )
    def test_a_revert_is_recognized_by_code_or_data(self, code, text, data, is_revert):
        revert = as_revert(NodeRefused("0:node", code, text, data))

        assert (revert is not None) is is_revert

    @pytest.mark.fault("W28")
    def test_waiting_times_double_with_jitter_up_to_a_ceiling(self):
        backoff = Backoff(1.0, 8.0, random.Random(1))

        for failures, longest in enumerate([1, 2, 4, 8, 8, 8]):
            assert longest / 2 <= backoff.seconds(failures) <= longest
        assert backoff.seconds(10_000) <= 8
