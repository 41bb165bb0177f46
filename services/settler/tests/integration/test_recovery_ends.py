"""A recovery ends automatically once each older payment is proven made, or not made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime

import pytest

from services.settler.tests.integration.reconciling import explaining, record_external_payment
from services.settler.tests.integration.recovery_worlds import (
    opened_destination,
    opened_source,
)
from services.settler.tests.integration.test_lane_schedules import Watcher
from services.settler.tests.lane_harness import (
    DESTINATION,
    PAYOUT,
    SIGNER,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
)
from services.settler.tests.recovery_harness import (
    FEES,
    SLOTS_MAX,
    fence,
    fencing,
    finishing,
    is_open,
    make_forgotten,
    mark_final_blocks_read,
    proving,
    restore_database,
)
from swap_chains.evm.codec import intent_id
from swap_chains.ports import Call
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused, Unavailable
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.holds import held_swap
from swap_settler.paying.usecases import fence_nonces
from swap_settler.recovery.decide.recovery import Findings
from swap_settler.recovery.store.recoveries import PostgresRecoveries
from swap_settler.recovery.usecases import prove_recovery
from tests.support.crashes import ProcessKilled

pytestmark = pytest.mark.connected
OPERATOR_ORDER = {"by": "ann", "reason": "looked at"}


@pytest.fixture
async def world(watcher: Engine, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_destination(migrate_schema) as world:
        yield world


@pytest.fixture
async def source_world(world: World, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_source(migrate_schema) as source_world:
        yield source_world


async def try_to_end(watcher: Engine, *worlds: World) -> bool:
    """Let the chain-watcher read to the final blocks; return whether the recovery ended."""
    prove = proving(*worlds)
    has_ended = await prove()  # it stores the heads first
    for world in worlds:
        world.chain.mine(4)
    await mark_final_blocks_read(watcher, *worlds)
    return await prove() or has_ended


async def keep_on(world: World) -> None:
    await world.send_everything()
    world.chain.mine(4)
    await world.close_slots()


async def statuses(world: World) -> list[str]:
    return [s.status for s in await world.rows("SELECT status FROM swap ORDER BY sequence_number")]


class TestEnds:
    async def test_without_a_recovery_a_round_reads_no_payments(self, world: World) -> None:
        """The check runs every second, during the whole life of the service."""
        await world.confirmed_swaps(1)
        statements: list[str] = []
        world.engine.statement_listener = statements.append

        assert not await proving(world)()

        assert [text for text in statements if "intent" in text or "refund_due" in text] == []
        assert len(statements) == 1

    @pytest.mark.fault("P6")
    async def test_p6_without_lost_payments_held_ones_are_paid(
        self, world: World, watcher: Engine
    ) -> None:
        await world.confirmed_swaps(2)
        await restore_database(world)
        await fence(world)

        assert await try_to_end(watcher, world)
        await keep_on(world)

        assert not await is_open(world)
        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        [ended] = await world.rows("SELECT ended_by, ended_because FROM recovery")
        assert ended.ended_by == "settler"
        assert "0 were made" in ended.ended_because

    async def test_not_before_the_watcher_has_read_to_the_head(
        self, world: World, watcher: Engine
    ) -> None:
        await world.confirmed_swaps(1)
        await restore_database(world)
        await fence(world)
        await mark_final_blocks_read(watcher, world)
        world.chain.mine(4)

        assert not await proving(world)()
        assert not await proving(world)()
        await mark_final_blocks_read(watcher, world)
        world.chain.mine(4)
        assert not await proving(world)()  # the head was queried after the read blocks
        await mark_final_blocks_read(watcher, world)

        assert await proving(world)()

    async def test_not_before_the_nonces_are_closed(self, world: World, watcher: Engine) -> None:
        await world.confirmed_swaps(1)
        await restore_database(world)

        assert not await try_to_end(watcher, world)
        await fencing(world)(epoch=world.epoch)
        assert not await try_to_end(watcher, world)
        await world.send_everything()
        assert not await try_to_end(watcher, world)  # mined, but not reported as final
        await world.close_slots()

        assert await try_to_end(watcher, world)

    async def test_not_while_a_signer_is_halted(self, world: World, watcher: Engine) -> None:
        await world.confirmed_swaps(1)
        await restore_database(world)
        await world.store.halt("an operator must look")
        await fence(world)
        assert not await try_to_end(watcher, world)

        await world.resuming()(DESTINATION, **OPERATOR_ORDER)
        await fence(world)

        assert await try_to_end(watcher, world)

    async def test_not_while_a_node_is_away(self, world: World, watcher: Engine) -> None:
        await world.confirmed_swaps(1)
        await restore_database(world)
        await fence(world)
        await proving(world)()
        world.chain.mine(4)
        await mark_final_blocks_read(watcher, world)
        world.chain.make_unavailable()

        with pytest.raises(Unavailable):
            await proving(world)()
        world.chain.make_available()

        assert await proving(world)()

    async def test_not_while_new_evidence_arises(self, world: World, watcher: Engine) -> None:
        """Evidence found after the start of the recovery is used too."""
        await world.confirmed_swaps(1)
        await restore_database(world)
        await fence(world)
        await proving(world)()
        world.chain.mine(4)
        await mark_final_blocks_read(watcher, world)
        await world.store.halt("external payment")

        assert not await proving(world)()
        assert await is_open(world)

    async def test_not_while_the_watcher_has_halted_a_network(
        self, world: World, watcher: Engine
    ) -> None:
        await world.confirmed_swaps(1)
        await restore_database(world)
        await fence(world)
        await mark_final_blocks_read(watcher, world)
        async with watcher.begin() as connection:
            halt = "UPDATE watch_cursor SET halted_at = now(), halt_reason = 'it changed'"
            await connection.execute(sql(halt))

        assert not await try_to_end(watcher, world)

    async def test_not_by_findings_from_before_the_last_evidence(
        self, world: World, watcher: Engine
    ) -> None:
        await world.confirmed_swaps(1)
        await restore_database(world)
        recoveries = PostgresRecoveries(world.engine)
        found = await recoveries.find()
        assert found is not None
        nothing = Findings((), has_unknown=False, evidence=found.evidence)
        await world.store.halt("external payment")

        assert not await recoveries.finish(found.id, nothing, **OPERATOR_ORDER)
        assert await is_open(world)

    @pytest.mark.fault("P6")
    async def test_p6_another_restore_begins_another(self, world: World, watcher: Engine) -> None:
        """The second restore loses the proofs of the first recovery, and later changes."""
        await world.confirmed_swaps(1)
        await restore_database(world)
        await fence(world)
        await world.execute("UPDATE swap SET created_at = now()")
        await restore_database(world)

        await world.send_everything()
        assert world.chain.pool == {}
        assert not await try_to_end(watcher, world)
        assert await is_held(world, 1)
        rows = await world.rows("SELECT ended_because FROM recovery ORDER BY id")
        assert [row.ended_because for row in rows] == ["another one began", None]

    async def test_newer_swaps_are_paid_on_nonces_behind_the_fence(self, world: World) -> None:
        await world.confirmed_swaps(2)
        await restore_database(world)
        await world.execute(
            "UPDATE swap SET created_at = now() + interval '1 second' WHERE sequence_number = 2"
        )

        await world.send_everything()
        assert world.chain.pool == {}  # the ledger may be behind the chain
        await fence(world)
        await keep_on(world)

        assert (world.paid_amount(1), world.paid_amount(2)) == (0, PAYOUT)
        nonces = await world.rows("SELECT nonce FROM slot_intent")
        assert [row.nonce for row in nonces] == [SLOTS_MAX]


@pytest.mark.breaks_invariants("I-27")  # one payment is owed without cover, until it is explained
class TestForgotten:
    @pytest.mark.fault("P6")
    async def test_p6_an_output_stays_held_until_it_is_explained(
        self, world: World, watcher: Engine
    ) -> None:
        funding = a_funding(1).body.model_copy(update={"base_units": str(3 * PAYOUT)})
        await world.settle(a_funding(1).model_copy(update={"body": funding}))
        await world.requesting()([a_request(1), a_request(2)])
        made = await make_forgotten(world, 1, "output", nonce=0)
        world.chain.mine(4)
        await restore_database(world)
        await world.settle(a_deposit(1), a_deposit(2))
        await Watcher(world).report()
        [shown] = await finishing(world).list_forgotten(await began(world))
        assert (shown.kind, shown.payment.transaction_hash) == ("output", made.transaction_hash)
        await fence(world)

        assert await try_to_end(watcher, world)
        await keep_on(world)
        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        assert await statuses(world) == ["ls_transfer_pending"] * 2
        [retained] = await finishing(world).list_retained()
        assert (retained.swap_id, retained.kind) == (a_request(1).body.swap_id, "output")
        with pytest.raises(RequestRefused, match="explained, not released"):
            await finishing(world).release(retained.id, **OPERATOR_ORDER)

        [ended] = await explaining(world)(DESTINATION, made.transaction_hash, **OPERATOR_ORDER)
        await keep_on(world)

        assert ended.end == "made"
        assert await finishing(world).list_retained() == []
        assert (await statuses(world))[0] == "completed"
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("P6")
    async def test_p6_a_refund_excludes_the_output(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        """Its swap was refunded; the restored ledger would pay it out."""
        await world.confirmed_swaps(2)
        await make_forgotten(source_world, 1, "refund", nonce=0)
        source_world.chain.mine(4)
        await restore_database(world)
        await Watcher(source_world).report()
        for side in (world, source_world):
            await fence(side)

        assert await try_to_end(watcher, world, source_world)
        await keep_on(world)

        assert source_world.paid_amount(1) == PAYOUT
        assert (world.paid_amount(1), world.paid_amount(2)) == (0, PAYOUT)
        [retained] = await finishing(world).list_retained()
        assert (retained.swap_id, retained.kind) == (a_request(1).body.swap_id, "refund")

    @pytest.mark.fault("P6")
    async def test_p6_a_payment_without_a_log_is_found_by_its_id(
        self, world: World, watcher: Engine
    ) -> None:
        await world.confirmed_swaps(2)
        await make_forgotten(world, 1, "output", nonce=0)
        world.chain.mine(4)
        await restore_database(world)
        await fence(world)

        assert await try_to_end(watcher, world)
        await keep_on(world)

        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        assert len(await finishing(world).list_retained()) == 1

    @pytest.mark.fault("P6")
    async def test_p6_a_pooled_transaction_is_mined_before_the_end_or_never(
        self, world: World, watcher: Engine
    ) -> None:
        """It has the highest nonce that could have been open: it is mined instead of the no-op."""
        await world.confirmed_swaps(2)
        late = await make_forgotten(world, 1, "output", nonce=SLOTS_MAX - 1)
        await restore_database(world)
        await fence(world)
        assert world.paid_amount(1) == PAYOUT
        await Watcher(world).report()
        assert not await try_to_end(watcher, world)

        await fence(world)  # SLOTS_MAX nonces after the mined one are closed, too
        assert await try_to_end(watcher, world)
        await keep_on(world)

        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        assert not await is_halted(world)
        [fenced] = await world.rows("SELECT end_nonce FROM recovery_fence")
        assert fenced.end_nonce == late.nonce + 1 + SLOTS_MAX
        booked = await world.store.signer_balance(NATIVE)
        assert booked == world.chain.world.balances[SIGNER, NATIVE]

    @pytest.mark.fault("P6")
    async def test_p6_what_was_not_mined_can_never_be(self, world: World, watcher: Engine) -> None:
        await world.confirmed_swaps(1)
        out = await make_forgotten(world, 1, "output", nonce=1)
        world.chain.drop(out.transaction_hash)
        await restore_database(world)
        await fence(world)
        assert await try_to_end(watcher, world)

        await world.sender.broadcast([out])  # its holder finally sends it
        await keep_on(world)

        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.parametrize("is_forgotten", [False, True])
    @pytest.mark.fault("P6")
    async def test_p6_a_slot_without_bytes_does_not_keep_it_open(
        self, world: World, watcher: Engine, is_forgotten: bool
    ) -> None:
        """The backup has the payment on a nonce. Its transaction was signed later, or never."""
        await world.confirmed_swaps(2)
        payments = {p.swap_id: p for p in (await world.store.due(limit=9)).payments}
        carried = payments[a_request(1).body.swap_id]
        [slot] = await world.store.assign([(carried,)], epoch=world.epoch)
        if is_forgotten:
            await make_forgotten(world, 1, "output", nonce=slot.nonce)
            world.chain.mine(4)
        await restore_database(world)
        await fence(world)

        assert await try_to_end(watcher, world)
        await keep_on(world)

        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        assert len(await finishing(world).list_retained()) == is_forgotten
        assert not await is_halted(world)

    @pytest.mark.fault("P6")
    async def test_p6_newer_payments_may_be_beyond_the_second_fence(
        self, world: World, watcher: Engine
    ) -> None:
        await world.confirmed_swaps(4)
        late = await make_forgotten(world, 1, "output", nonce=0)
        world.chain.drop(late.transaction_hash)
        await restore_database(world)
        assert await fencing(world)(epoch=world.epoch) == SLOTS_MAX
        await world.sender.broadcast([late])
        for number in (2, 3, 4):
            await world.execute(
                "UPDATE swap SET created_at = now() + interval '1 second' "
                f"WHERE sequence_number = {number}"
            )
            await world.send_everything()
        world.chain.mine(4)
        await world.close_slots()
        [signer] = await world.rows("SELECT next_nonce FROM signer")
        end = late.nonce + 1 + SLOTS_MAX
        assert signer.next_nonce > end

        assert await fencing(world)(epoch=world.epoch) == 0

        [fenced] = await world.rows("SELECT first_nonce, end_nonce FROM recovery_fence")
        assert (fenced.first_nonce, fenced.end_nonce) == (0, end)
        await Watcher(world).report()
        assert await try_to_end(watcher, world)

    async def test_the_ledger_is_brought_to_where_the_chain_is(
        self, world: World, watcher: Engine
    ) -> None:
        """Nonces that lost transactions used are not a gap, and their gas is a loss."""
        await world.confirmed_swaps(1)
        for nonce in range(3):
            call = Call(SIGNER, 0, b"", 21_000)
            spent = await world.sender.sign(call, nonce=nonce, fees=FEES)
            await world.sender.broadcast([spent])
            world.chain.mine()
        world.chain.mine(4)
        await restore_database(world)

        await fence(world)
        assert await try_to_end(watcher, world)
        await keep_on(world)

        assert world.paid_amount(1) == PAYOUT
        assert not await is_halted(world)
        [signer] = await world.rows("SELECT next_nonce FROM signer")
        assert signer.next_nonce == 3 + SLOTS_MAX + 1
        booked = await world.store.signer_balance(NATIVE)
        assert booked == world.chain.world.balances[SIGNER, NATIVE]

    async def test_an_external_payment_after_the_restore_halts_the_signers(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await restore_database(world)
        await world.execute("UPDATE recovery SET began_at = '2000-01-01'")
        made = await make_forgotten(world, 1, "output", nonce=0)
        world.chain.mine(4)

        await record_external_payment(world, made.transaction_hash, a_recipient(1))

        assert await is_halted(world)

    @pytest.mark.fault("P6")
    async def test_p6_an_operator_ends_it_and_what_is_known_to_be_paid_stays_held(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(2)
        made = await make_forgotten(world, 1, "output", nonce=0)
        world.chain.mine(4)
        await restore_database(world)
        await fence(world)
        paid_id = intent_id(a_request(1).body.swap_id, "output", "main")
        await record_external_payment(world, made.transaction_hash, a_recipient(1), paid_id=paid_id)

        await world.finish_recovery()
        await keep_on(world)

        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        assert (await finishing(world).list_retained())[0].kind == "output"


@pytest.mark.parametrize(
    "point",
    [
        "settler.before_fence",
        "settler.after_fence",
        "settler.after_recovery_heads",
        "settler.before_recovery_end",
        "settler.after_recovery_end",
    ],
)
@pytest.mark.fault("P6")
async def test_p6_each_step_may_crash(
    world: World, watcher: Engine, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    await world.confirmed_swaps(2)
    await make_forgotten(world, 1, "output", nonce=0)
    world.chain.mine(4)
    await restore_database(world)
    await Watcher(world).report()
    died: list[str] = []

    def crashpoint(name: str) -> None:
        if name == point and not died:
            died.append(name)
            raise ProcessKilled(name)

    for usecase in (fence_nonces, prove_recovery):
        monkeypatch.setattr(usecase, "crashpoint", crashpoint)
    for _ in range(4):
        with suppress(ProcessKilled):
            await fencing(world)(epoch=world.epoch)
        await keep_on(world)
        with suppress(ProcessKilled):
            await try_to_end(watcher, world)

    assert died == [point]
    assert not await is_open(world)
    await keep_on(world)
    assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
    [retained] = await finishing(world).list_retained()
    assert retained.kind == "output"


async def test_recovery_ends_once_the_treasury_drops_an_unknown_signer(
    world: World, watcher: Engine
) -> None:
    """While the Treasury accepts a signer that no catalogue names, nothing is proven for it."""
    earlier = a_recipient(99)
    await world.execute(
        "INSERT INTO signer (network, address, next_nonce) "
        f"VALUES ('{DESTINATION}', '{earlier}', 5)"
    )
    world.chain.authorize(earlier)
    await world.confirmed_swaps(1)
    await restore_database(world)
    await fence(world)
    assert not await try_to_end(watcher, world)

    for mined in world.chain.blocks:
        world.chain.mined_at(mined).world.operators.discard(earlier)

    assert await try_to_end(watcher, world)


async def began(world: World) -> datetime:
    [row] = await world.rows("SELECT began_at FROM recovery ORDER BY id DESC LIMIT 1")
    assert isinstance(row.began_at, datetime)
    return row.began_at


async def is_held(world: World, number: int) -> bool:
    held = held_swap("swap.id")
    query = f"SELECT {held} AS is_held FROM swap WHERE sequence_number = {number}"
    [row] = await world.rows(query)
    return bool(row.is_held)


async def is_halted(world: World) -> bool:
    rows = await world.rows("SELECT halted_reason FROM signer WHERE halted_reason IS NOT NULL")
    return bool(rows)
