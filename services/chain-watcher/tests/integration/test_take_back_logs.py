"""An operator's order after a halt: logs that every provider denies are reverted, no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from false_providers import (
    FALSE_DEPOSIT,
    FIRST,
    THIRD,
    TRANSACTION,
    FalsifyingReader,
    Providers,
    UnavailableReader,
    adding,
    correct_reader,
    false_reader,
    halted_by_false_node,
    is_halted,
    rows,
    sent_by,
    two_correct_readers,
)
from watch_factories import (
    NETWORK,
    TREASURY,
    UNKNOWN_ADDRESS,
    USDC,
    a_deposit,
    a_policy_of_two,
    a_sweep,
)
from watch_world import NOW, SECOND, World, until

from swap_chain_watcher.adapters import unit_of_work
from swap_chain_watcher.domain.movements import Kind
from swap_chain_watcher.domain.watch import Halt
from swap_chain_watcher.usecases.resume_network import ResumeNetwork
from swap_chains.events import BlockAdded, Deposited, LogId, Movement, TokenTransfer
from swap_chains.fake import FakeChain, FakeReader
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.identities import Operator, Role
from swap_runtime.operators.operator_log import LoggedOrder, carrying_out
from swap_runtime.postgres.sql import sql
from tests.support.crashes import ProcessKilled, killed_at

pytestmark = [pytest.mark.connected, pytest.mark.fault("W1")]

OTHER = "ANOTHER_DEVNET"


@pytest.fixture
def world(world: World) -> World:
    world.policy = a_policy_of_two()
    return world


async def test_logs_that_all_providers_deny_are_reverted_and_the_network_resumes(
    world: World,
) -> None:
    await halted_by_false_node(world)

    await world.resuming(two_correct_readers(world))(NETWORK, take_back=[TRANSACTION])

    assert await world.published_versions() == [("confirmed", 2), ("reverted", 3)]
    assert not await is_halted(world)
    await world.deposits(8)
    async with world.follow(correct_reader(world)):
        world.chain.mine(9)
        await world.is_at_head()
    assert (await world.messages())[-1]["sequence_number"] == 8
    assert await world.second_look(correct_reader(world, THIRD))()


async def test_log_that_one_provider_reports_is_not_reverted(world: World) -> None:
    await halted_by_false_node(world)
    before = await world.published_versions()

    reader = Providers(correct_reader(world), correct_reader(world, THIRD), false_reader(world))
    with pytest.raises(RequestRefused, match=f"{FIRST} still reports the deposited of transaction"):
        await world.resuming(reader)(NETWORK, take_back=[TRANSACTION])

    assert await world.published_versions() == before
    assert await is_halted(world)


async def test_a_false_node_reverts_no_real_deposit(world: World) -> None:
    """Neither with honest providers, nor where all of them report it."""
    async with world.follow(correct_reader(world, FIRST)):
        deposit = await world.deposits(7)
        world.chain.mine(9)
        await world.is_at_head()
    await world.watches.halt(Halt(NETWORK, "a node lied", NOW))
    hiding_reader = false_reader(world, lambda added: replace(added, movements=()))
    before = await world.published_versions()

    with pytest.raises(RequestRefused, match=f"{SECOND} still reports"):
        await world.taking_back(Providers(correct_reader(world), hiding_reader))(
            [deposit.transaction_hash]
        )
    with pytest.raises(RequestRefused, match="every provider reports"):
        await world.taking_back(two_correct_readers(world))([deposit.transaction_hash])

    assert await world.published_versions() == before


async def test_log_is_not_reverted_while_a_provider_does_not_answer(world: World) -> None:
    await halted_by_false_node(world)
    before = await world.published_versions()

    reader = Providers(
        correct_reader(world),
        correct_reader(world, FIRST),
        UnavailableReader(world.chain, provider=THIRD),
    )
    with pytest.raises(RequestRefused, match=f"{THIRD} neither reports nor denies .*: no header"):
        await world.resuming(reader)(NETWORK, take_back=[TRANSACTION])

    assert await world.published_versions() == before
    assert await is_halted(world)


async def test_log_is_not_reverted_with_one_configured_provider(world: World) -> None:
    await halted_by_false_node(world)
    before = await world.published_versions()

    with pytest.raises(RequestRefused, match=f"only {SECOND} is configured"):
        await world.resuming(correct_reader(world))(NETWORK, take_back=[TRANSACTION])

    assert await world.published_versions() == before
    assert await is_halted(world)


async def test_log_of_a_network_that_is_not_halted_is_not_reverted(world: World) -> None:
    async with world.follow(false_reader(world)):
        world.chain.mine(9)
        await world.is_at_head()
    before = await world.published_versions()

    with pytest.raises(RequestRefused, match="is not halted"):
        await world.resuming(two_correct_readers(world))(NETWORK, take_back=[TRANSACTION])
    # Also when it was resumed during the requests to the providers.
    with pytest.raises(RequestRefused, match="is not halted"):
        await world.taking_back(two_correct_readers(world))([TRANSACTION])

    assert await world.published_versions() == before


async def test_an_unknown_transaction_is_refused_with_all_that_was_named_beside(
    world: World,
) -> None:
    await halted_by_false_node(world)
    before = await world.published_versions()

    take_back = [TRANSACTION, "0xunknown"]
    with pytest.raises(RequestRefused, match=f"no log of 0xunknown is published on {NETWORK}"):
        await world.resuming(two_correct_readers(world))(NETWORK, take_back=take_back)

    assert await world.published_versions() == before
    assert await is_halted(world)


async def test_a_transaction_of_another_network_is_refused(world: World) -> None:
    await halted_by_false_node(world)
    before = await world.published_versions()
    chain = FakeChain(OTHER, depository=USDC, treasury=TREASURY, decimals={USDC: 6})
    await world.watches.start(OTHER, chain.blocks[0])
    await world.watches.halt(Halt(OTHER, "a node lied", NOW))
    reader = Providers(FakeReader(chain), FakeReader(chain, provider=THIRD))
    take_back = world.taking_back(reader)
    resume_network = ResumeNetwork(
        world.watches, checks={OTHER: ()}, take_back_logs={OTHER: take_back}
    )

    with pytest.raises(RequestRefused, match=f"no log of {TRANSACTION} is published on {OTHER}"):
        await resume_network(OTHER, take_back=[TRANSACTION])

    assert await world.published_versions() == before
    assert await world.watches.find_halt(OTHER) is not None


async def test_reverted_logs_stay_reverted_when_the_network_halts_again(
    world: World,
) -> None:
    """Each false log is named; the next order names the second one, and repeats the first."""
    second = a_deposit("later", swap_key=f"0x{9:064x}")

    def change(added: BlockAdded) -> BlockAdded:
        return adding(second, at=6)(adding(FALSE_DEPOSIT)(added))

    async with world.follow(false_reader(world, change)):
        world.chain.mine(14)
        await world.is_at_head()
    await world.second_look(correct_reader(world))()
    await world.is_halted()
    # The second wrong report is beyond the range of one check.
    resume_network = world.resuming(two_correct_readers(world), blocks_max=3)

    with pytest.raises(
        RequestRefused, match=f"{TRANSACTION} is taken back and stays so, but .*would halt"
    ):
        await resume_network(NETWORK, take_back=[TRANSACTION])
    assert await is_halted(world)
    named = [TRANSACTION, second.id.transaction_hash]
    await resume_network(NETWORK, take_back=named)

    assert [state for state, _ in await world.published_versions()].count("reverted") == 2
    assert not await is_halted(world)


async def test_an_order_interrupted_before_its_commit_can_be_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await halted_by_false_node(world)
    before = await world.published_versions()
    killed_at(monkeypatch, "chain_watcher.before_commit", unit_of_work)

    with pytest.raises(ProcessKilled):
        await world.taking_back(two_correct_readers(world))([TRANSACTION])
    assert await world.published_versions() == before

    await world.taking_back(two_correct_readers(world))([TRANSACTION])
    after = await world.published_versions()
    await world.resuming(two_correct_readers(world))(NETWORK, take_back=[TRANSACTION])
    assert await world.published_versions() == after == [*before, ("reverted", 3)]
    assert not await is_halted(world)


async def test_a_log_that_changes_while_providers_are_asked_is_not_reverted(
    world: World,
) -> None:
    await halted_by_false_node(world)
    before = await world.published_versions()

    class LateProviders(Providers):
        async def block_of_each_provider(self, *args: Any, **more: Any) -> Any:
            async with world.engine.begin() as connection:
                await connection.execute(sql("UPDATE movement SET verified_at = now()"))
            return await super().block_of_each_provider(*args, **more)

    with pytest.raises(RequestRefused, match="a log changed since"):
        await world.taking_back(LateProviders(correct_reader(world), correct_reader(world, THIRD)))(
            [TRANSACTION]
        )

    assert await world.published_versions() == before


async def test_a_real_transfer_that_a_false_deposit_claimed_is_credited(world: World) -> None:
    """The invented log claimed the transfer, so the transfer was stored and never published."""
    transfer = await world.sends_tokens(TREASURY, 10)

    def change(added: BlockAdded) -> BlockAdded:
        claimed: list[Movement] = []
        for movement in added.movements:
            assert isinstance(movement, TokenTransfer)
            log_id = LogId(movement.id.transaction_hash, "invented", 0)
            claimed += [
                replace(movement, claimed_by=log_id),
                replace(FALSE_DEPOSIT, id=log_id, base_units=movement.base_units),
            ]
        return replace(added, movements=tuple(claimed))

    await halted_by_false_node(world, false_reader(world, change))
    assert {body["kind"] for body in await world.messages()} == {Kind.DEPOSITED.value}

    take_back = [transfer.transaction_hash]
    await world.resuming(two_correct_readers(world))(NETWORK, take_back=take_back)

    changes = [(body["kind"], body["state"]) for body in await world.messages()]
    assert changes[-2:] == [("deposited", "reverted"), ("token_transfer", "seen")]
    await world.watches.halt(Halt(NETWORK, "again", NOW))
    await world.taking_back(two_correct_readers(world))(take_back)  # a repetition changes nothing
    assert len(await world.messages()) == len(changes)
    await world.resuming(two_correct_readers(world))(NETWORK)
    await follows_until_confirmed(world, "token_transfer")


async def test_a_deposit_whose_log_was_hidden_is_credited_instead_of_its_receipt(
    world: World,
) -> None:
    """The receipt was published as a separate transfer, so both would be credited."""
    deposit = await world.deposits(7)

    def change(added: BlockAdded) -> BlockAdded:
        receipts = [one for one in added.movements if isinstance(one, TokenTransfer)]
        return replace(added, movements=tuple(replace(one, claimed_by=None) for one in receipts))

    await halted_by_false_node(world, false_reader(world, change))
    assert {body["kind"] for body in await world.messages()} == {Kind.TOKEN_TRANSFER.value}

    await world.resuming(two_correct_readers(world))(NETWORK, take_back=[deposit.transaction_hash])

    changes = [(body["kind"], body["state"]) for body in await world.messages()]
    assert changes[-2:] == [("token_transfer", "reverted"), ("deposited", "seen")]
    await follows_until_confirmed(world, "deposited")


async def test_a_real_deposit_with_a_false_sender_is_published_as_it_is(world: World) -> None:
    deposit = await world.deposits(7)
    await halted_by_false_node(world, false_reader(world, sent_by(USDC)))
    [false] = {body["from_address"] for body in await world.messages()}

    take_back = [deposit.transaction_hash]
    await world.resuming(two_correct_readers(world))(NETWORK, take_back=take_back)

    *_, reverted, again = await world.messages()
    assert (reverted["state"], reverted["from_address"]) == ("reverted", false)
    assert (again["state"], again["version"]) == ("seen", reverted["version"] + 1)
    assert again["from_address"] != false
    assert again["deposit_id"] == reverted["deposit_id"]
    [stored] = await rows(
        world, "SELECT from_address, provider FROM movement WHERE claimed_by IS NULL"
    )
    assert stored == (again["from_address"], SECOND)
    await follows_until_confirmed(world, "deposited")


async def test_contradictory_reports_of_the_real_deposit_revert_no_log(
    world: World,
) -> None:
    deposit = await world.deposits(7)
    await halted_by_false_node(world, false_reader(world, sent_by(USDC)))
    before = await world.published_versions()
    other = FalsifyingReader(world.chain, provider=THIRD)
    other.change = sent_by(UNKNOWN_ADDRESS)  # type: ignore[method-assign]

    with pytest.raises(RequestRefused, match="providers contradict each other about the deposited"):
        await world.taking_back(Providers(correct_reader(world), other))([deposit.transaction_hash])

    assert await world.published_versions() == before


async def follows_until_confirmed(world: World, kind: str) -> None:
    async def is_confirmed() -> bool:
        newest = (await world.messages())[-1]
        return (newest["kind"], newest["state"]) == (kind, "confirmed")

    async with world.follow(correct_reader(world)):
        world.chain.mine(2)
        await world.is_at_head()
        await world.verifying(correct_reader(world, THIRD))()
        world.chain.mine()
        await until(is_confirmed)


@pytest.mark.parametrize(("true_at", "false_at"), [(2, 1), (1, 9)])
async def test_a_real_deposit_that_was_also_reported_in_a_wrong_block_stays_credited(
    world: World, true_at: int, false_at: int
) -> None:
    """The versions of both rows are one series; the last one is of the true block."""
    world.chain.mine(true_at - 1)
    deposit = await world.deposits(7)
    world.chain.mine()
    [added] = await correct_reader(world).movements(first=true_at, last=world.chain.blocks[true_at])
    [real] = [one for one in added.movements if isinstance(one, Deposited)]
    async with world.follow(false_reader(world, adding(real, at=false_at))):
        world.chain.mine(7)
        await world.is_at_head()
        world.chain.mine(9)
        await world.is_at_head()
    await world.second_look(correct_reader(world))()
    assert await is_halted(world)

    await world.resuming(two_correct_readers(world))(NETWORK, take_back=[deposit.transaction_hash])

    *before, last = await world.messages()
    assert (last["state"], last["block_number"]) == ("confirmed", true_at)
    assert all(body["state"] != "reverted" for body in before)
    assert last["version"] > max(body["version"] for body in before)
    stored = await rows(world, "SELECT block_number, state FROM movement WHERE kind = 'deposited'")
    assert dict(stored) == {true_at: "confirmed", false_at: "reverted"}


@pytest.mark.parametrize(("true_at", "false_at"), [(2, 9), (3, 1)])
async def test_a_real_deposit_reported_only_in_a_wrong_block_is_credited(
    world: World, true_at: int, false_at: int
) -> None:
    """The second look does not pass its true block before the false row is reverted."""
    world.chain.mine(true_at - 1)
    deposit = await world.deposits(7)
    world.chain.mine()
    [added] = await correct_reader(world).movements(first=true_at, last=world.chain.blocks[true_at])
    [real] = [one for one in added.movements if isinstance(one, Deposited)]

    def change(added: BlockAdded) -> BlockAdded:
        is_true = added.block.number == true_at
        reported = replace(added, movements=()) if is_true else added
        return adding(real, at=false_at)(reported)

    async with world.follow(false_reader(world, change)):
        world.chain.mine(9 - true_at)
        await world.is_at_head()
    await world.second_look(correct_reader(world))()
    assert f"in block {false_at}, reported by {FIRST}" in await world.is_halted()

    await world.resuming(two_correct_readers(world))(NETWORK, take_back=[deposit.transaction_hash])

    *_, reverted, seen, confirmed = await world.messages()
    assert (reverted["state"], reverted["block_number"]) == ("reverted", false_at)
    assert (seen["state"], seen["block_number"]) == ("seen", true_at)
    assert (confirmed["state"], confirmed["block_number"]) == ("confirmed", true_at)
    assert not await is_halted(world)


async def test_a_sweep_that_is_booked_as_final_is_not_reverted(world: World) -> None:
    """Two providers lied. The settler reverses no booked sweep, so the order is refused."""
    sweep = a_sweep("swept")
    confirming = false_reader(world, adding(sweep), provider=THIRD)
    async with world.follow(false_reader(world, adding(sweep))):
        world.chain.mine(8)
        await world.is_at_head()
        await world.verifying(confirming)()
        world.chain.mine()
        await world.is_at_head()
    await world.second_look(correct_reader(world))()
    assert "lack 1 of the movements" in await world.is_halted()
    before = await world.published_versions()
    assert before[-1][0] == "confirmed"

    with pytest.raises(RequestRefused, match="the settler has booked it as final"):
        await world.taking_back(two_correct_readers(world))([sweep.id.transaction_hash])

    assert await world.published_versions() == before


async def test_a_reverted_sweep_no_longer_counts(
    world: World,
) -> None:
    """Otherwise more coins would be counted at its address than were received."""
    sweep = a_sweep("swept", token=NATIVE)
    async with world.follow(false_reader(world, adding(sweep))):
        world.chain.mine(3)  # not final
        await world.is_at_head()
    await world.watches.halt(Halt(NETWORK, "a node lied", NOW))

    async def swept() -> tuple[int, int]:
        address = sweep.from_address
        async with world.work() as work:
            [totals] = await work.find_totals(NETWORK, [address])
            return totals.swept_base_units, (await work.load_swept_coins(NETWORK, [address]))[
                address
            ]

    async with world.engine.begin() as connection:
        await connection.execute(
            sql("UPDATE watch_cursor SET (checked_number, finalized_number) = (number, number)")
        )
    assert await swept() == (sweep.base_units, sweep.base_units)

    await world.taking_back(two_correct_readers(world))([sweep.id.transaction_hash])

    assert await world.published_versions() == [("seen", 1), ("reverted", 2)]
    assert await swept() == (0, 0)


async def test_an_unqueried_log_is_not_denied(world: World) -> None:
    async with world.follow():
        world.chain.mine()
        address = await world.assigns(7)
        await world.has_activated()
        transfer = await world.sends_tokens(address, 10)
        world.chain.mine(9)
        await world.is_at_head()
    await world.watches.halt(Halt(NETWORK, "a node lied", NOW))
    async with world.engine.begin() as connection:
        await connection.execute(sql("UPDATE deposit_target SET position = NULL"))
    before = await world.published_versions()

    with pytest.raises(RequestRefused, match="nodes are not asked about today"):
        await world.taking_back(two_correct_readers(world))([transfer.transaction_hash])

    assert await world.published_versions() == before


async def test_the_order_is_in_the_log_with_what_it_took_back(world: World) -> None:
    await halted_by_false_node(world)
    order = LoggedOrder(
        UUID(int=7),
        Operator("ada", Role.OPERATOR),
        "POST /networks/{network}/resume",
        {"take_back": [TRANSACTION]},
        "first.example lies",
    )
    logged = f"SELECT operator, reason FROM operator_order WHERE order_id = '{order.id}'"

    with carrying_out(order), pytest.raises(RequestRefused):
        await world.resuming(correct_reader(world))(NETWORK, take_back=[TRANSACTION])
    assert await rows(world, logged) == []
    with carrying_out(order):
        await world.taking_back(two_correct_readers(world))([TRANSACTION])

    assert await rows(world, logged) == [("ada", "first.example lies")]
    assert not order.is_logged  # the resume completes it
