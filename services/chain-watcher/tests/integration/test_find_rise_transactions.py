"""Coins leave no log: their transaction is found after the credit, and never credits anything."""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from typing import Any

import pytest
from false_providers import rows
from watch_factories import NETWORK, TREASURY, USER
from watch_world import NOW, World

from swap_chain_watcher.domain.hints import HintBackoff
from swap_chain_watcher.usecases.record_hints import RecordHints
from swap_chains.errors import ChainUnavailable
from swap_chains.events import Block
from swap_chains.evm.codec import checksum_address
from swap_chains.fake import FakeReader, FakeSender
from swap_chains.ports import Call, SignedTransaction
from swap_contracts.deposits import DepositHinted
from swap_contracts.topics import DEPOSIT_HINTED
from swap_domain.catalogue import NATIVE
from tests.support.waiting import until

pytestmark = pytest.mark.connected

OTHER, POOR = (checksum_address("0x" + byte * 20) for byte in ("0b", "0c"))


@pytest.fixture
def world(world: World) -> World:
    world.explains_rises = True
    return world


async def shown(world: World, address: str) -> list[tuple[str, str | None, str | None]]:
    """Return state, transaction and sender of each message about coins at an address."""
    return [
        (b["state"], b["transaction_hash"], b["from_address"])
        for b in await world.messages()
        if b["to_address"] == address
    ]


async def shows(world: World, address: str, *expected: tuple[str, str | None, str | None]) -> None:
    async def is_shown() -> bool:
        return await shown(world, address) == list(expected)

    try:
        await until(is_shown)
    except AssertionError:  # shows the difference
        assert await shown(world, address) == list(expected)


async def shows_in_the_end(
    world: World, address: str, expected: tuple[str, str | None, str | None]
) -> None:
    async def is_last() -> bool:
        return (await shown(world, address))[-1:] == [expected]

    await until(is_last)


async def hints(world: World, transaction_hash: str) -> None:
    hinted = DepositHinted(network=NETWORK, transaction_hash=transaction_hash)
    envelope = DEPOSIT_HINTED.seal(
        hinted, version=transaction_hash, occurred_at=NOW, trace_id="test"
    )
    record_hints = RecordHints(world.work, networks=[NETWORK], backoff=HintBackoff())
    await record_hints([envelope])
    world.hinted.set()


async def sends_as(
    world: World, payer: str, to_address: str, units: int, *, funds: int = 10**9
) -> SignedTransaction:
    reader, sender = FakeReader(world.chain), FakeSender(world.chain, payer)
    world.chain.give(payer, NATIVE, funds)
    nonce = await reader.pending_nonce(payer)
    call = Call(to_address, units, b"", 30_000)
    signed = await sender.sign(call, nonce=nonce, fees=await reader.fees())
    await sender.broadcast([signed])
    return signed


async def is_quiet(world: World) -> None:
    """Have the follower open its stream a few times without new blocks."""
    for _ in range(5):
        world.hinted.set()
        await until(lambda: _is_taken(world))


async def _is_taken(world: World) -> bool:
    return not world.hinted._event.is_set()


@pytest.mark.fault("W20")
async def test_the_one_transaction_that_sent_it_is_published_in_a_later_version(
    world: World,
) -> None:
    async with world.follow():
        address = await world.assigns(701)
        await world.has_activated()
        sent = await world.sends_coins(address, 5)
        world.chain.mine()
        source = (sent.transaction_hash, USER)
        await shows(world, address, ("seen", None, None), ("seen", *source))
        world.chain.mine()
        await shows(world, address, ("seen", None, None), ("seen", *source), ("confirmed", *source))

    bodies = await world.messages()
    assert [body["version"] for body in bodies] == [1, 2, 3]
    assert len({body["deposit_id"] for body in bodies}) == 1


@pytest.mark.fault("W20")
async def test_rise_of_several_transactions_is_explained_only_by_a_hint(
    world: World,
) -> None:
    async with world.follow():
        address = await world.assigns(702)
        await world.has_activated()
        await world.sends_coins(address, 5)
        second = await sends_as(world, OTHER, address, 6)
        elsewhere = await sends_as(world, OTHER, TREASURY, 11)
        world.chain.mine()
        await shows(world, address, ("seen", None, None))
        await hints(world, elsewhere.transaction_hash)
        await is_quiet(world)
        assert await shown(world, address) == [("seen", None, None)]

        await hints(world, second.transaction_hash)
        await shows(world, address, ("seen", None, None), ("seen", second.transaction_hash, OTHER))


@pytest.mark.fault("W20")
async def test_a_hinted_transaction_that_failed_or_is_earlier_explains_no_rise(
    world: World,
) -> None:
    async with world.follow():
        address = await world.assigns(703)
        await world.has_activated()
        early = await world.sends_coins(address, 2)
        world.chain.mine()
        await shows(world, address, ("seen", None, None), ("seen", early.transaction_hash, USER))
        one = await world.sends_coins(address, 3)
        failed = await sends_as(world, POOR, address, 4, funds=0)
        two = await sends_as(world, OTHER, address, 4)
        world.chain.mine()
        await world.is_at_head()
        before = await shown(world, address)
        for hinted in (early, failed):
            await hints(world, hinted.transaction_hash)
            await is_quiet(world)

        assert await shown(world, address) == before
        await hints(world, one.transaction_hash)
        await shows(world, address, *before, ("seen", one.transaction_hash, USER))
        assert two.transaction_hash not in {h for _, h, _ in await shown(world, address)}


async def test_a_transaction_that_is_mined_again_is_found_again(world: World) -> None:
    async with world.follow():
        address = await world.assigns(704)
        await world.has_activated()
        sent = await world.sends_coins(address, 5)
        source = (sent.transaction_hash, USER)
        world.chain.mine()
        seen = [("seen", None, None), ("seen", *source)]
        await shows(world, address, *seen)
        world.chain.reorg(1, [(sent, 0)])
        await shows(world, address, *seen, ("reverted", *source), *seen)


async def test_transaction_is_published_again_when_its_block_returns(world: World) -> None:
    """The stored state of the rise is the last published one."""
    async with world.follow():
        address = await world.assigns(707)
        await world.has_activated()
        sent = await world.sends_coins(address, 5)
        source = (sent.transaction_hash, USER)
        world.chain.mine()
        seen = [("seen", None, None), ("seen", *source)]
        await shows(world, address, *seen)
        left = world.chain._chain[-1]
        world.chain.reorg(1)
        gone = [*seen, ("reverted", *source)]
        await shows(world, address, *gone)
        world.chain._chain[-1] = left
        world.chain._notify_followers()
        await shows(world, address, *gone, *seen)
        world.chain.mine()
        await shows(world, address, *gone, *seen, ("confirmed", *source))

    [row] = await rows(world, "SELECT transaction_hash, from_address, state FROM movement")
    assert tuple(row) == (*source, "confirmed")


@pytest.mark.parametrize("blocks", [1, 10, 32])
async def test_transaction_is_found_in_any_possible_block_of_the_rise(
    world: World, blocks: int
) -> None:
    async with world.follow():
        address = await world.assigns(705)
        await world.has_activated()
        world.chain.mine()
        await world.is_at_head()
    sent = await world.sends_coins(address, 5)
    world.chain.mine(blocks)
    source = (sent.transaction_hash, USER)
    async with world.follow():
        await shows(world, address, ("seen", None, None), ("seen", *source))


async def test_a_node_that_shows_no_transactions_delays_no_credit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = FakeReader(world.chain)

    async def silent(*_: Any, **__: Any) -> Any:
        raise ChainUnavailable(NETWORK, ["no blocks"])

    monkeypatch.setattr(reader, "transactions_between", silent)
    async with world.follow(reader):
        address = await world.assigns(706)
        await world.has_activated()
        await world.sends_coins(address, 5)
        world.chain.mine()
        await shows(world, address, ("seen", None, None))
        world.chain.mine()
        await shows(world, address, ("seen", None, None), ("confirmed", None, None))


@pytest.mark.parametrize(
    ("method", "has_answer"),
    [("transactions_between", False), ("receipts", False), ("receipts", True)],
    ids=["no blocks", "no receipts", "a receipt that a node lacks"],
)
async def test_what_nodes_did_not_show_is_read_again_with_the_next_block(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, *, has_answer: bool
) -> None:
    reader = FakeReader(world.chain)
    answer, calls = getattr(reader, method), []

    async def nothing_at_first(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        if len(calls) > 1:
            return await answer(*arguments, **named)
        if has_answer:
            return {}
        raise ChainUnavailable(NETWORK, ["no answer"])

    monkeypatch.setattr(reader, method, nothing_at_first)
    async with world.follow(reader):
        address = await world.assigns(708)
        await world.has_activated()
        sent = await world.sends_coins(address, 5)
        world.chain.mine()
        await until(lambda: _has_asked(calls))
        world.chain.mine()
        await shows_in_the_end(world, address, ("confirmed", sent.transaction_hash, USER))


async def test_rise_whose_blocks_are_not_known_does_not_delay_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = FakeReader(world.chain)
    between = reader.transactions_between

    async def but_for_the_newest(*, first: int, last: Block) -> Any:
        if last == world.chain.blocks[-1]:
            raise ChainUnavailable(NETWORK, ["no such block"])
        return await between(first=first, last=last)

    monkeypatch.setattr(reader, "transactions_between", but_for_the_newest)
    async with world.follow(reader):
        older, newer = [await world.assigns(number) for number in (710, 711)]
        await world.has_activated()
        sent = await world.sends_coins(older, 5)
        world.chain.mine()
        await until(lambda: _is_shown(world, older))
        await world.sends_coins(newer, 5)
        world.chain.mine()
        await shows_in_the_end(world, older, ("confirmed", sent.transaction_hash, USER))
        assert await shown(world, newer) == [("seen", None, None)]


async def test_hinted_part_is_no_source_while_the_whole_one_may_be_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone can send a little in the same block, and name it."""
    reader = FakeReader(world.chain)
    between, answers = reader.transactions_between, asyncio.Event()

    async def later(*, first: int, last: Block) -> Any:
        if not answers.is_set():
            raise ChainUnavailable(NETWORK, ["no answer"])
        return await between(first=first, last=last)

    monkeypatch.setattr(reader, "transactions_between", later)
    async with world.follow(reader):
        address = await world.assigns(713)
        await world.has_activated()
        await world.sends_coins(address, 5)
        little = await sends_as(world, OTHER, address, 1)
        await hints(world, little.transaction_hash)
        world.chain.mine()
        await until(lambda: _is_shown(world, address))
        await is_quiet(world)
        assert await shown(world, address) == [("seen", None, None)]

        answers.set()  # no transaction sent all of it
        await shows_in_the_end(world, address, ("seen", little.transaction_hash, OTHER))


async def test_failed_hint_does_not_hide_the_transaction_that_sent_the_coins(world: World) -> None:
    async with world.follow():
        address = await world.assigns(712)
        await world.has_activated()
        failed = await sends_as(world, POOR, address, 4, funds=0)
        await hints(world, failed.transaction_hash)
        sent = await world.sends_coins(address, 5)
        world.chain.mine()
        await shows_in_the_end(world, address, ("seen", sent.transaction_hash, USER))


async def _is_shown(world: World, address: str) -> bool:
    return bool(await shown(world, address))


async def _has_asked(calls: Sized) -> bool:
    return bool(calls)
