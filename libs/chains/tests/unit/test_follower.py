"""Nodes that lag, lie or refuse, and which of their answers are accepted."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing, suppress

import orjson
import pytest
from aiohttp import web

from libs.chains.tests.following import follow
from swap_chains.errors import BlockDiffers, InconsistentAnswer, ReorgBeyondFinality
from swap_chains.events import (
    Block,
    BlockAdded,
    BlocksFinalized,
    BlocksReverted,
    Deposited,
    NativeReceived,
)
from swap_chains.evm import codec
from swap_chains.evm.blocks import Tail, to_block
from swap_chains.evm.follower import Pace
from swap_chains.evm.memos import encode_memo, memo_number
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Node, Rpc
from tests.support.waiting import PATIENCE_SECONDS

DEPOSITORY = codec.checksum_address("0x" + "d1" * 20)
TREASURY = codec.checksum_address("0x" + "7e" * 20)
TOKEN = codec.checksum_address("0x" + "70" * 20)
PACE = Pace(poll_seconds=0.005, stale_after_seconds=0.05)


def reader_of(session, *nodes, pace=PACE):
    rpc = Rpc.to_urls("TESTNET", [node.url for node in nodes], session, timeout_seconds=10)
    return EvmReader(rpc, depository=DEPOSITORY, treasury=TREASURY, tokens=[TOKEN], pace=pace)


def block(chain, number):
    return to_block(Node("http://any", None), chain.blocks[number])


async def follow_until(reader, is_enough, *, after, recent=()):
    seen = []
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        aclosing(follow(reader, after=after, recent=recent)) as events,
    ):
        async for event in events:
            seen.append(event)
            if is_enough(seen):
                break
    return seen


async def follow_to(reader, number, *, after, recent=()):
    def has_arrived(seen):
        return isinstance(seen[-1], BlockAdded) and seen[-1].block.number == number

    return await follow_until(reader, has_arrived, after=after, recent=recent)


def numbers(events):
    return [e.block.number for e in events if isinstance(e, BlockAdded)]


def units(events):
    return [m.base_units for e in events if isinstance(e, BlockAdded) for m in e.movements]


class TestNodesThatAreBehind:
    async def test_a_node_that_stands_still_is_left_for_another(self, session, serve):
        stale, live = await serve(), await serve()
        stale.chain.grow(2)
        live.chain.grow(4)

        events = await follow_to(reader_of(session, stale, live), 4, after=block(stale.chain, 0))

        assert numbers(events) == [1, 2, 3, 4]

    async def test_a_node_that_stands_still_is_left_also_by_who_opens_it_again_and_again(
        self, session, serve
    ):
        stale, live = await serve(), await serve()
        stale.chain.grow(2)
        live.chain.grow(4)
        patient = Pace(poll_seconds=0.005, stale_after_seconds=0.4)
        reader = reader_of(session, stale, live, pace=patient)
        start = block(stale.chain, 2)

        async def first():
            async with aclosing(follow(reader, after=start)) as events:
                return await anext(aiter(events))

        seen = None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while seen is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.3):
                        seen = await first()

        assert numbers([seen]) == [3]

    async def test_a_lower_known_head_reverts_no_blocks(self, session, serve):
        node = await serve()
        node.chain.grow(5)
        start = block(node.chain, 0)
        polls = []

        def lag(method, params, answer):
            if method == "eth_getBlockByNumber" and params[0] == "latest":
                polls.append(answer)
                if len(polls) in (2, 3):
                    return node.chain.blocks[3]
                if len(polls) == 4:
                    node.chain.grow(1)
                    return node.chain.blocks[6]
            return answer

        node.change = lag
        events = await follow_to(reader_of(session, node), 6, after=start)

        assert numbers(events) == [1, 2, 3, 4, 5, 6]
        assert not any(isinstance(e, BlocksReverted) for e in events)

    @pytest.mark.fault("W2")
    async def test_w2_no_logs_from_a_node_without_the_block_are_no_empty_block(
        self, session, serve
    ):
        chain_ahead = await serve()
        behind = await serve(chain_ahead.chain)
        chain_ahead.chain.grow(1)
        chain_ahead.chain.add_transfer(1, 5)

        def forget(method, params, answer):
            if method == "eth_getLogs":
                return []
            return None if method == "eth_getBlockByHash" else answer

        behind.change = forget
        events = await follow_to(
            reader_of(session, behind, chain_ahead), 1, after=block(chain_ahead.chain, 0)
        )

        assert units(events) == [5]

    async def test_a_node_behind_finality_is_passed_over(self, session, serve):
        behind, live = await serve(), await serve()
        live.chain.grow(50)

        events = await follow_to(reader_of(session, behind, live), 50, after=block(live.chain, 49))

        assert numbers(events) == [50]


class TestHead:
    async def test_is_that_of_a_node_that_has_reached_it(self, session, serve):
        behind, live = await serve(), await serve()
        live.chain.grow(4)
        reader = reader_of(session, behind, live)

        assert (await reader.head()).number == 0
        assert (await reader.head(at_least=4)).number == 4
        assert (await reader.head()).number == 4  # and that node stays in use

    async def test_is_the_furthest_where_none_has(self, session, serve):
        nodes = [await serve(), await serve(), await serve()]
        nodes[1].chain.grow(2)

        assert (await reader_of(session, *nodes).head(at_least=5)).number == 2


class TestNodesThatLie:
    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda logs: [{**logs[0], "removed": True}], id="removed"),
            pytest.param(
                lambda logs: [{**logs[0], "transactionHash": "0x" + "0" * 64}], id="no transaction"
            ),
            pytest.param(lambda logs: [{**logs[0], "blockHash": "0x" + "1" * 64}], id="elsewhere"),
            pytest.param(lambda logs: [{**logs[0], "blockNumber": "0x9"}], id="other number"),
            pytest.param(lambda logs: [logs[0], logs[0]], id="twice"),
            pytest.param(lambda logs: [{**logs[0], "data": "0x"}], id="no data"),
            pytest.param(lambda logs: [{"address": TOKEN}], id="half a log"),
            pytest.param(lambda logs: "logs", id="no list"),
            pytest.param(lambda logs: None, id="null"),
        ],
    )
    @pytest.mark.fault("W3", "W11")
    async def test_a_log_that_does_not_fit_is_requested_again(self, session, serve, spoil):
        node = await serve()
        node.chain.grow(1)
        node.chain.add_transfer(1, 5)
        left = [True]

        def lie(method, params, answer):
            if method == "eth_getLogs" and answer and left:
                left.clear()
                return spoil(answer)
            return answer

        node.change = lie
        events = await follow_to(reader_of(session, node), 1, after=block(node.chain, 0))

        assert units(events) == [5]
        assert not left

    @pytest.mark.fault("W1")
    async def test_a_hidden_deposit_is_noticed_by_the_receipt_it_caused(self, session, serve):
        false_node = await serve()
        correct_node = await serve(false_node.chain)
        false_node.chain.grow(1)
        false_node.chain.add_native_deposit(1, 77, 9)

        def hide(method, params, answer):
            if method != "eth_getLogs":
                return answer
            return [log for log in answer if log["topics"][0] != codec.DEPOSITED]

        false_node.change = hide
        events = await follow_to(
            reader_of(session, false_node, correct_node), 1, after=block(false_node.chain, 0)
        )

        received, deposited = next(e for e in events if isinstance(e, BlockAdded)).movements
        assert isinstance(received, NativeReceived)
        assert isinstance(deposited, Deposited)
        assert received.claimed_by == deposited.id

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda sent: None, id="none"),
            pytest.param(lambda sent: {**sent, "hash": "0x" + "09" * 32}, id="another"),
            pytest.param(lambda sent: {**sent, "blockHash": None}, id="not mined"),
            pytest.param(lambda sent: {**sent, "input": "SWAP"}, id="no hex"),
            pytest.param(lambda sent: {"hash": sent["hash"]}, id="half a transaction"),
        ],
    )
    async def test_a_transaction_that_does_not_fit_its_transfer_is_requested_again(
        self, session, serve, spoil
    ):
        node = await serve()
        node.chain.grow(1)
        node.chain.add_transfer(1, 5, encode_memo(77))
        left = [True]

        def lie(method, params, answer):
            if method == "eth_getTransactionByHash" and left:
                left.clear()
                return spoil(answer)
            return answer

        node.change = lie
        events = await follow_to(reader_of(session, node), 1, after=block(node.chain, 0))

        [transfer] = [m for e in events if isinstance(e, BlockAdded) for m in e.movements]
        assert memo_number(transfer.memo) == 77
        assert not left

    async def test_transaction_of_a_deposit_is_not_requested(self, session, serve):
        node = await serve()
        node.chain.grow(1)
        node.chain.add_native_deposit(1, 77, 9)

        await follow_to(reader_of(session, node), 1, after=block(node.chain, 0))

        assert "eth_getTransactionByHash" not in node.methods

    async def test_unsolicited_logs_are_dropped(self, session, serve):
        node = await serve()
        node.chain.grow(1)
        node.chain.add_transfer(1, 5)
        copy = {**node.chain.logs[0], "address": "0x" + "fa" * 20, "logIndex": "0x7"}
        node.change = lambda method, params, answer: (
            [*answer, copy] if method == "eth_getLogs" else answer
        )

        events = await follow_to(reader_of(session, node), 1, after=block(node.chain, 0))

        assert units(events) == [5]

    async def test_headers_that_do_not_follow_each_other_are_rejected(self, session, serve):
        node = await serve()
        node.chain.grow(4)
        left = [True]

        def lie(method, params, answer):
            if method == "eth_getBlockByNumber" and params[0] == "0x2" and left:
                left.clear()
                return {**answer, "hash": "0x" + "2" * 64}
            return answer

        node.change = lie
        events = await follow_to(reader_of(session, node), 4, after=block(node.chain, 0))

        assert numbers(events) == [1, 2, 3, 4]
        assert not left

    async def test_node_on_another_fork_does_not_stop_the_follower(self, session, serve):
        lost, live = await serve(), await serve()
        live.chain.grow(3)
        lost.chain.grow(5, salt="fork")

        events = await follow_to(reader_of(session, lost, live), 3, after=block(live.chain, 2))

        assert numbers(events) == [3]


class TestSecondLook:
    async def test_distinguishes_another_final_block_from_a_node_that_is_behind(
        self, session, serve
    ):
        behind, other, correct_node = await serve(), await serve(), await serve()
        behind.chain.grow(1)
        other.chain.grow(3, salt="other")
        correct_node.chain.grow(3)
        failures = []
        urls = [node.url for node in (behind, other, correct_node)]
        rpc = Rpc.to_urls("TESTNET", urls, session, timeout_seconds=10, on_failure=failures.append)
        reader = EvmReader(rpc, depository=DEPOSITORY, treasury=TREASURY, tokens=[TOKEN])

        assert await reader.movements(first=1, last=block(correct_node.chain, 3)) == []

        assert [type(failure) for failure in failures] == [InconsistentAnswer, BlockDiffers]


class TestFinality:
    @pytest.mark.fault("R8")
    async def test_r8_finality_that_goes_backwards_is_not_published(self, session, serve):
        node = await serve()
        node.chain.grow(6)
        node.chain.finality_depth = 2
        received = []

        async def run():
            reader = reader_of(session, node)
            async with aclosing(follow(reader, after=block(node.chain, 0))) as events:
                async for event in events:
                    if isinstance(event, BlocksFinalized):
                        received.append(event.upto.number)
                        node.chain.finality_depth = 5
                        node.chain.grow(1)
                    elif event.block.number == 9:
                        return
                    elif event.block.number > 6:
                        node.chain.grow(1)

        async with asyncio.timeout(PATIENCE_SECONDS):
            await run()
        assert received == [4]

    async def test_a_claim_ahead_of_the_end_is_published_when_the_end_reaches_it(self):
        blocks = [Block(n, f"0x{n}", f"0x{n - 1}", None) for n in range(6)]
        tail = Tail(blocks[:2])

        assert tail.finalize(blocks[3]) is None
        tail.append(blocks[2])
        assert tail.finalize(blocks[4]) is None
        tail.append(blocks[3])
        assert tail.finalize(blocks[5]) == blocks[3]
        assert tail.oldest == blocks[3]

    async def test_a_claim_about_another_fork_is_not_published(self):
        tail = Tail([Block(1, "0x1", "0x0", None), Block(2, "0x2", "0x1", None)])

        assert tail.finalize(Block(2, "0xother", "0x1", None)) is None
        assert tail.finalized is None


class TestCatchingUp:
    @pytest.mark.fault("W7")
    async def test_far_behind_only_blocks_with_movements_are_published(self, session, serve):
        node = await serve()
        node.chain.grow(3000)
        node.chain.finality_depth = 20
        for number in (1, 700, 701, 2980, 2981, 3000):
            node.chain.add_transfer(number, number)

        events = await follow_to(reader_of(session, node), 3000, after=block(node.chain, 0))

        assert units(events) == [1, 700, 701, 2980, 2981, 3000]
        assert numbers(events)[-21:] == list(range(2980, 3001))
        assert len(numbers(events)) < 40
        assert node.requests < 25

    @pytest.mark.fault("W10")
    async def test_w10_a_refused_range_is_halved_until_it_is_answered(self, session, serve):
        node = await serve()
        node.chain.grow(600)
        node.chain.finality_depth = 0
        for number in range(1, 601, 3):
            node.chain.add_transfer(number, number)
        answered = []

        def refuse_many(method, params, answer):
            if method != "eth_getLogs" or "fromBlock" not in params[0]:
                return answer
            size = int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) + 1
            if size > 20:
                return {"code": -32602, "message": "block range is too wide"}
            answered.append(size)
            return answer

        node.change = refuse_many
        events = await follow_to(reader_of(session, node), 600, after=block(node.chain, 0))

        assert units(events) == list(range(1, 601, 3))
        assert max(answered) > 10

    @pytest.mark.parametrize("method", ["eth_getLogs", "eth_getBlockByHash"])
    async def test_too_many_blocks_are_read_in_smaller_steps(self, session, serve, method):
        node = await serve()
        node.chain.grow(60)
        for number in range(1, 61):
            node.chain.add_transfer(number, number)
        requests = Counter()

        # As Geth does: it answers until the total size is large, and refuses the other requests.
        def refuse_many(this, params, answer):
            requests[node.requests, this] += 1
            if requests[node.requests, method] > 10:
                return {"code": -32003, "message": "response too large"}
            return answer

        node.change = refuse_many
        events = await follow_to(reader_of(session, node), 60, after=block(node.chain, 0))

        assert units(events) == list(range(1, 61))

    async def test_a_slow_node_is_read_in_smaller_steps(self, session, serve):
        node = await serve()
        node.chain.grow(60)

        async def reply(answers):
            if isinstance(answers, list) and len(answers) > 30:
                await asyncio.Event().wait()  # the reader times out
            return web.Response(body=orjson.dumps(answers))

        node.reply = reply
        rpc = Rpc.to_urls("TESTNET", [node.url], session, timeout_seconds=0.5)
        reader = EvmReader(rpc, depository=DEPOSITORY, treasury=TREASURY, tokens=[], pace=PACE)

        events = await follow_to(reader, 60, after=block(node.chain, 0))

        assert numbers(events) == list(range(1, 61))

    async def test_a_range_with_many_blocks_is_read_also_where_batches_are_short(
        self, session, serve
    ):
        node = await serve()
        node.chain.grow(400)
        node.chain.finality_depth = 0
        for number in range(1, 401):
            node.chain.add_transfer(number, number)

        # As Geth does with many headers at once.
        requests = Counter()

        def refuse_many(method, params, answer):
            requests[node.requests, method] += 1
            if requests[node.requests, "eth_getBlockByNumber"] > 20:
                return {"code": -32003, "message": "response too large"}
            return answer

        node.change = refuse_many
        reader = reader_of(session, node)
        events = await follow_to(reader, 400, after=block(node.chain, 0))
        again = await reader.movements(first=1, last=block(node.chain, 400))

        assert units(events) == units(again) == list(range(1, 401))

    @pytest.mark.fault("W5")
    async def test_a_reorg_between_two_pages_is_found_by_the_parent(self, session, serve):
        node = await serve()
        node.chain.grow(90)
        node.chain.finality_depth = 40
        start = block(node.chain, 45)
        recent = [block(node.chain, n) for n in range(30, 45)]
        node.chain.cut(50)
        node.chain.grow(120, salt="fork")

        events = await follow_to(reader_of(session, node), 160, after=start, recent=recent)

        assert events[0] == BlocksReverted(ancestor=recent[10], reverted=(*recent[11:], start))
        assert numbers(events)[-1] == 160

    async def test_a_reorg_below_what_is_known_stops_everything(self, session, serve):
        node = await serve()
        node.chain.grow(90)
        start, recent = block(node.chain, 45), [block(node.chain, 40)]
        node.chain.cut(60)
        node.chain.grow(120, salt="fork")

        with pytest.raises(ReorgBeyondFinality):
            await follow_to(reader_of(session, node), 100, after=start, recent=recent)


class TestCost:
    async def test_a_quiet_chain_costs_one_small_request_per_poll(self, session, serve):
        node = await serve()
        node.chain.grow(1)
        start = block(node.chain, 1)
        reader = reader_of(session, node, pace=Pace(poll_seconds=0.005))

        is_enough = asyncio.Event()

        def count(method, params, answer):
            if node.requests == 20:
                is_enough.set()
            return answer

        node.change = count
        following = asyncio.create_task(follow_to(reader, 2, after=start))
        await asyncio.wait_for(is_enough.wait(), 5)
        assert node.methods.count("eth_getLogs") == 0
        assert len(node.methods) == node.requests
        node.chain.grow(1)
        assert numbers(await following) == [2]
