"""S11: an external transaction used a signer's nonce; an operator names it, the chain proves it.

A payment on the nonce is then paid once, or refunded: never both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from datetime import timedelta
from typing import NoReturn

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DESTINATION,
    PAYOUT,
    SIGNER,
    SOURCE,
    TREASURY,
    World,
    a_deposit,
    a_recipient,
)
from swap_chains.errors import ChainUnavailable
from swap_chains.events import Block
from swap_chains.evm.codec import Payment, encode_pay
from swap_chains.fake import FakeSender
from swap_chains.ports import Call, Fees
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.postgres.database import transaction
from swap_runtime.postgres.sql import sql
from swap_settler.paying.usecases.close_slots import ROUNDS_UNEXPLAINED_MAX
from swap_settler.settling.store.dwelling import PostgresDwelling
from tests.support.locks import until_blocked

pytestmark = pytest.mark.connected
OPERATOR_ORDER = {"by": "ann", "reason": "a transfer made by hand"}
FEES = Fees(10**13, 10**13)
FLOAT = 10**18
STOLEN = 10**17
EXTERNAL_RECIPIENT = a_recipient(66)


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        world.chain.give(SIGNER, NATIVE, FLOAT)
        await world.close_slots()  # the ledger has its gas money
        yield world


async def use_nonce_externally(
    world: World, nonce: int, *, call: Call | None = None, value: int = STOLEN
) -> str:
    """Send an external transaction with our signer's key."""
    call = call or Call(to=EXTERNAL_RECIPIENT, value=value, data=b"", gas_limit=21_000)
    external = await world.sender.sign(call, nonce=nonce, fees=FEES)
    await world.sender.broadcast([external])
    world.chain.mine()
    return external.transaction_hash


async def halted(world: World) -> None:
    """Run the lane until the signer halts."""
    closing = world.closing()
    for _ in range(ROUNDS_UNEXPLAINED_MAX + 3):
        world.chain.mine()
        await closing(epoch=world.epoch)
    [signer] = await world.rows("SELECT halted_reason FROM signer")
    assert "used by no transaction of ours" in signer.halted_reason


async def with_used_nonce(world: World, count: int = 1) -> str:
    """Send payments, then have a final external transaction consume the nonce of the first."""
    await world.confirmed_swaps(count)
    await world.send_everything()
    world.chain.pool.clear()
    external = await use_nonce_externally(world, 0)
    await halted(world)
    return external


async def paid_id_of(world: World, to_address: str) -> int:
    """Return the id that the Treasury accepts once for a payment."""
    rows = await world.rows("SELECT to_address, paid_id FROM intent")
    return next(int(row.paid_id) for row in rows if row.to_address == to_address)


def paying(paid_id: int, to_address: str) -> Call:
    payment = Payment(paid_id, NATIVE, to_address, PAYOUT)
    return Call(to=TREASURY, value=0, data=encode_pay(payment), gas_limit=10**6)


async def no_node_answers(_: object) -> NoReturn:
    raise ChainUnavailable(DESTINATION, ["away"])


async def is_halted(world: World) -> bool:
    [signer] = await world.rows("SELECT halted_reason IS NOT NULL AS is_so FROM signer")
    return bool(signer.is_so)


async def last_cause(world: World) -> str | None:
    """Return the cause of the last change of the only swap."""
    *_, last = await world.rows("SELECT cause FROM swap_transition ORDER BY sequence")
    cause: str | None = last.cause
    return cause


async def balance_of_signer(world: World) -> int:
    return await world.store.signer_balance(NATIVE)


class TestAnExternalNonce:
    @pytest.mark.fault("S11")
    async def test_s11_is_closed_by_its_proof_and_its_payments_leave_once_on_another(
        self, world: World
    ) -> None:
        external = await with_used_nonce(world, count=2)

        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.finish_recovery()

        assert await world.intent_states() == ["reserved"] * 2
        await world.send_everything()
        world.chain.mine(4)
        await world.close_slots()
        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        assert not await is_halted(world)
        [slot] = await world.rows(
            "SELECT transaction_hash, closed_at, witnesses FROM signer_transaction"
            " JOIN nonce_slot USING (network, signer, nonce) WHERE nonce = 0"
        )
        assert (slot.transaction_hash, slot.closed_at is not None) == (external, True)
        [stored] = await world.rows("SELECT * FROM foreign_transaction")
        assert (stored.named_by, stored.named_because) == (
            OPERATOR_ORDER["by"],
            OPERATOR_ORDER["reason"],
        )

    @pytest.mark.fault("S11")
    async def test_s11_books_what_it_took(self, world: World) -> None:
        external = await with_used_nonce(world)

        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)

        [lost] = await world.rows("SELECT balance FROM account WHERE kind = 'loss'")
        assert lost.balance == fee_of(world, external) + STOLEN
        assert await balance_of_signer(world) == FLOAT - lost.balance

    @pytest.mark.fault("S11")
    async def test_s11_takes_no_more_than_the_ledger_has_of_the_signer(self, world: World) -> None:
        """The signer was topped up while its nonce was unexplained, and that was stolen too."""
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        world.chain.give(SIGNER, NATIVE, 5 * FLOAT)
        external = await use_nonce_externally(world, 0, value=3 * FLOAT)
        world.chain.mine(2)
        await halted(world)

        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)

        assert await balance_of_signer(world) == 0
        world.chain.mine(3)
        await world.close_slots()
        assert await balance_of_signer(world) == world.chain.world.balances[SIGNER, NATIVE]

    @pytest.mark.fault("S11")
    async def test_s11_can_be_named_repeatedly(self, world: World) -> None:
        external = await with_used_nonce(world)
        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.finish_recovery()
        await world.send_everything()
        await world.store.halt("something else")

        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.finish_recovery()

        assert await world.intent_states() == ["broadcast"]  # broadcast, and left as it is
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S11")
    async def test_s11_explains_nonces_that_were_never_handed_out(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        used_by = [await use_nonce_externally(world, nonce) for nonce in range(3)]
        await halted(world)
        resume = world.resuming()
        with pytest.raises(RequestRefused, match="no transaction is named"):
            await resume(DESTINATION, used_by=used_by[:2], **OPERATOR_ORDER)
        with pytest.raises(RequestRefused, match="--used-by"):
            await resume(DESTINATION, **OPERATOR_ORDER)

        await resume(DESTINATION, used_by=used_by, **OPERATOR_ORDER)
        await world.finish_recovery()

        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT
        nonces = await world.rows("SELECT nonce FROM nonce_slot ORDER BY nonce")
        assert [row.nonce for row in nonces] == [0, 1, 2, 3]

    @pytest.mark.fault("S11")
    async def test_s11_of_an_unsigned_slot_is_freed_too(self, world: World) -> None:
        await world.confirmed_swaps(1)
        waiting = (await world.store.due(limit=1)).payments
        await world.store.assign([tuple(waiting)], epoch=world.epoch)
        external = await use_nonce_externally(world, 0)
        world.chain.mine(3)
        await world.store.halt("a person must look")

        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.finish_recovery()

        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S11")
    async def test_s11_ends_a_payment_whose_deposit_a_reorg_removed(self, world: World) -> None:
        external = await with_used_nonce(world)
        await world.settle(a_deposit(1, version=3, state="reverted"))

        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)

        assert await world.intent_states() == ["dead"]
        [swap] = await world.rows("SELECT status FROM swap")
        assert swap.status == "user_transfer_pending"
        assert await last_cause(world) == "payment_reconciled"
        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == 0

    @pytest.mark.fault("S11")
    async def test_s11_keeps_its_proof_with_a_payment_that_is_given_up_later(
        self, world: World
    ) -> None:
        external = await with_used_nonce(world)
        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.finish_recovery()
        world.chain.refuse(a_recipient(1))
        for _ in range(2):
            await world.send_everything()

        [dead] = await world.rows("SELECT dead_proof -> 'slots' -> 0 AS slot FROM intent")
        assert dead.slot["consumed_by"] == external

    @pytest.mark.fault("S11")
    async def test_s11_a_lane_that_loaded_the_nonces_before_does_not_halt_it_again(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        external = await with_used_nonce(world)
        halt_for = world.store.halt_for

        async def late(nonces: Collection[int], reason: str) -> None:
            await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
            await halt_for(nonces, reason)

        monkeypatch.setattr(world.store, "halt_for", late)
        closing = world.closing()
        closing._rounds_unexplained = ROUNDS_UNEXPLAINED_MAX
        world.chain.mine()
        await closing(epoch=world.epoch)

        assert not await is_halted(world)


class TestTheProof:
    @pytest.mark.fault("S11")
    async def test_s11_is_refused_until_it_is_final(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        external = await use_nonce_externally(world, 0)
        await world.store.halt("a person must look")

        with pytest.raises(RequestRefused, match="in no final block"):
            await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)

        assert await world.intent_states() == ["broadcast"]
        assert await is_halted(world)

    @pytest.mark.fault("S11")
    async def test_s11_is_refused_for_a_transaction_of_the_service(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.mine(4)
        await world.store.halt("a person must look")
        [ours] = await world.rows("SELECT transaction_hash FROM attempt")

        with pytest.raises(RequestRefused, match="signed here"):
            await world.resuming()(DESTINATION, used_by=[ours.transaction_hash], **OPERATOR_ORDER)

        assert await world.intent_states() == ["broadcast"]

    @pytest.mark.fault("S11")
    async def test_s11_is_refused_for_a_transaction_of_another_signer(self, world: World) -> None:
        await with_used_nonce(world)

        with pytest.raises(RequestRefused, match="of no halted signer"):
            await world.resuming()(DESTINATION, used_by=[f"0x{7:064x}"], **OPERATOR_ORDER)

    @pytest.mark.fault("S11")
    async def test_s11_frees_only_payments_that_the_external_transaction_did_not_make(
        self, world: World
    ) -> None:
        """Another settler with the same key and a separate ledger has paid one of the users."""
        await world.confirmed_swaps(2)
        await world.send_everything()
        world.chain.pool.clear()
        paid_id = await paid_id_of(world, a_recipient(1))
        external = await use_nonce_externally(world, 0, call=paying(paid_id, a_recipient(1)))
        await halted(world)

        results = await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.finish_recovery()

        assert results.paid_externally == [paid_id]
        states = await world.rows("SELECT to_address, state FROM intent")
        assert {row.to_address: row.state for row in states} == {
            a_recipient(1): "broadcast",
            a_recipient(2): "reserved",
        }
        assert not await is_halted(world)
        await world.send_everything()
        world.chain.mine(4)
        await world.close_slots()
        assert [world.paid_amount(1), world.paid_amount(2)] == [PAYOUT] * 2
        open_slots = await world.rows("SELECT nonce FROM nonce_slot WHERE closed_at IS NULL")
        assert open_slots == []

    @pytest.mark.parametrize("is_signed", [False, True])
    @pytest.mark.fault("S11")
    async def test_s11_an_external_payment_is_never_abandoned_for_waiting(
        self, world: World, monkeypatch: pytest.MonkeyPatch, *, is_signed: bool
    ) -> None:
        """Its nonce was used before any node had our transaction: a refund would pay twice."""
        await world.confirmed_swaps(1)
        paid_id = await paid_id_of(world, a_recipient(1))
        if is_signed:
            monkeypatch.setattr(world.sender, "broadcast", no_node_answers)
            await world.send_everything()
            monkeypatch.undo()
        else:
            waiting = (await world.store.due(limit=1)).payments
            await world.store.assign([tuple(waiting)], epoch=world.epoch)
        external = await use_nonce_externally(world, 0, call=paying(paid_id, a_recipient(1)))
        world.chain.mine(3)
        await world.store.halt("a person must look")
        assert await world.intent_states() == ["assigned"]

        results = await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)

        assert results.paid_externally == [paid_id]
        dwelling = PostgresDwelling(world.engine, networks=[SOURCE, DESTINATION])
        assert await dwelling.find_unsent(timedelta(0), limit=10) == {}
        [swap] = await world.rows("SELECT status FROM swap")
        assert swap.status == "ls_transfer_pending"
        assert await last_cause(world) == "payment_reconciled"

    @pytest.mark.fault("S11")
    async def test_s11_waits_until_it_is_final_that_the_treasury_paid_it(
        self, world: World
    ) -> None:
        """A transaction of another operator paid it, and a reorg can still remove it."""
        external = await with_used_nonce(world)
        call = paying(await paid_id_of(world, a_recipient(1)), a_recipient(1))
        world.chain.authorize(EXTERNAL_RECIPIENT)
        other = FakeSender(world.chain, EXTERNAL_RECIPIENT)
        await other.broadcast([await other.sign(call, nonce=0, fees=FEES)])
        world.chain.mine()

        with pytest.raises(RequestRefused, match="not final: wait"):
            await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        world.chain.mine(3)
        results = await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)

        assert len(results.paid_externally) == 1
        assert await world.intent_states() == ["broadcast"]

    @pytest.mark.fault("S11")
    async def test_s11_leaves_no_gap_that_a_node_behind_the_others_does_not_see(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        behind = await world.reader.head()
        used_by = [await use_nonce_externally(world, nonce) for nonce in range(4)]
        await halted(world)

        async def head() -> Block:
            return behind

        monkeypatch.setattr(world.reader, "head", head)
        for named in ([0, 1, 3], [0, 1], [0, 2]):
            with pytest.raises(RequestRefused, match="no transaction is named that used nonce"):
                await world.resuming()(
                    DESTINATION, used_by=[used_by[n] for n in named], **OPERATOR_ORDER
                )
        await world.resuming()(DESTINATION, used_by=used_by, **OPERATOR_ORDER)

        nonces = await world.rows("SELECT nonce FROM nonce_slot ORDER BY nonce")
        assert [row.nonce for row in nonces] == [0, 1, 2, 3]

    @pytest.mark.fault("S11")
    async def test_s11_locks_the_signer_after_the_payments_as_the_lane_does(
        self, world: World
    ) -> None:
        external = await with_used_nonce(world)
        async with transaction(world.engine) as lane:
            await lane.execute(sql("SELECT id FROM intent FOR UPDATE"), {})
            resuming = asyncio.ensure_future(
                world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
            )
            await until_blocked(world.engine)
            await lane.execute(sql("SELECT address FROM signer FOR UPDATE NOWAIT"), {})
        await resuming

        assert await world.intent_states() == ["reserved"]

    @pytest.mark.fault("S11")
    async def test_s11_is_refused_while_the_watcher_has_the_payment_in_a_block(
        self, world: World
    ) -> None:
        """Fault R3: a reorg put the external one in its place; the chain-watcher is behind."""
        external = await with_used_nonce(world)
        [ours] = await world.rows("SELECT transaction_hash FROM attempt")
        await world.payout("seen", version=1, transaction_hash=ours.transaction_hash)

        with pytest.raises(RequestRefused, match="wait"):
            await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.payout("reverted", version=2, transaction_hash=ours.transaction_hash)
        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        await world.finish_recovery()

        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S11")
    async def test_s11_two_operators_at_once_free_it_once(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The second one read before the first committed; the payment was sent again since."""
        external = await with_used_nonce(world)
        late = world.resuming()
        close = late._close_external_nonces._close

        async def slept(*args: object, **more: object) -> None:
            await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
            await world.finish_recovery()
            await world.send_everything()
            await close(*args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(late._close_external_nonces, "_close", slept)
        with pytest.raises(RequestRefused, match="changed meanwhile"):
            await late(DESTINATION, used_by=[external], **OPERATOR_ORDER)

        assert await world.intent_states() == ["broadcast"]
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT


@pytest.mark.fault("S11")
async def test_s11_a_sweep_on_an_external_nonce_is_retried(
    migrate_schema: Callable[[str], str],
) -> None:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        world.chain.give(SIGNER, NATIVE, FLOAT)
        await world.request_with_addresses(1)
        await world.arrives(1)
        await world.sweep()
        world.chain.pool.clear()
        external = await use_nonce_externally(world, 0)
        await halted(world)

        await world.resuming()(SOURCE, used_by=[external], **OPERATOR_ORDER)

        [sweep] = await world.rows("SELECT state FROM intent WHERE kind = 'sweep'")
        assert sweep.state == "reserved"


def fee_of(world: World, transaction_hash: str) -> int:
    found = world.chain.find(transaction_hash)
    assert found is not None
    return found[2].gas_used * world.chain.base_fee
