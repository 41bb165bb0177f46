"""Results and refusals of a unit of work: one suite for the fake and for Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    MINUTE,
    NOON,
    OWNER,
    POLYGON,
    REFUEL,
    REQUESTED,
    SIGNER,
    SOME,
    TREASURY,
    USDC,
    USER,
    a_deposit,
    a_deposit_message,
    a_payout_message,
    a_request,
    a_swap,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeUnitOfWork
from services.settler.tests.integration.lanes import sign, sign_intent
from services.settler.tests.money_rows import ADDRESS, NUMBER
from services.settler.tests.settler_harness import Settler
from swap_domain.catalogue import NATIVE
from swap_runtime.clock import utc_now
from swap_runtime.postgres.sql import sql
from swap_settler.model.chain_facts import SweptFact
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import Changes, Halt
from swap_settler.model.ledger.ledger import payout_unexplained
from swap_settler.model.ports import UnitOfWork
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import Intent, IntentKind, IntentState, Swap
from swap_settler.model.targets import DepositTarget
from swap_settler.model.treasury import Withdrawal
from swap_settler.model.work_due import WAITS_FOR
from swap_settler.settling.decide.requests import begin

DAY = timedelta(days=1)
A_SIGNER = "INSERT INTO signer (network, address, next_nonce) VALUES (:network, :address, 0)"
BLOCK = {"block_number": 100, "block_hash": "0x" + "22" * 32, "block_time": NOON}
# Rows that these tests store directly are not published, or never broadcast.
BY_HAND = pytest.mark.breaks_invariants("I-22")


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.connected)])
def unit_of_work(request: pytest.FixtureRequest) -> UnitOfWork:
    if request.param == "fake":
        return FakeUnitOfWork()
    return PostgresUnitOfWork(request.getfixturevalue("engine"), consumer="settler")


def an_intent(kind: IntentKind, name: str, **more: Any) -> Intent:
    fields: dict[str, Any] = {
        "id": uuid5(SOME, name),
        "paid_id": None,
        "swap_id": None,
        "deposit_id": None,
        "kind": kind,
        "network": ETHEREUM,
        "token": USDC[ETHEREUM],
        "to_address": USER,
        "base_units": REQUESTED,
        "charged_base_units": 0,
        "usd_micros": 1,
        "state": IntentState.RESERVED,
        "due_at": NOON,
        "created_at": NOON,
    }
    return Intent(**fields | more)


def a_relay(number: int, *, not_after: datetime, **more: Any) -> Intent:
    owned = {"swap_id": swap_id(number), "payer": USER, "call_data": b"x", "not_after": not_after}
    return an_intent(IntentKind.GASLESS, f"relay/{number}", **owned | more)


A_RELAY: Final[dict[str, Any]] = {
    "kind": IntentKind.GASLESS,
    "payer": USER,
    "call_data": b"x",
    "not_after": NOON,
}


async def flush(unit_of_work: UnitOfWork, *changes: Changes) -> None:
    async with unit_of_work() as work:
        await work.flush(changes, [])


async def with_swap(unit_of_work: UnitOfWork, number: int, *intents: Intent) -> Swap:
    swap = a_swap(number)
    await flush(unit_of_work, replace(begin(swap), intents=intents))
    return swap


async def has_signer(unit_of_work: UnitOfWork) -> None:
    """Add the signer of the destination; the fake halts whole networks."""
    if isinstance(unit_of_work, PostgresUnitOfWork):
        async with unit_of_work._engine.begin() as connection:
            await connection.execute(sql(A_SIGNER), {"network": POLYGON, "address": SIGNER})


@BY_HAND
class TestRelays:
    async def test_lapse_in_the_order_of_their_ends(self, unit_of_work: UnitOfWork) -> None:
        for number, minutes in ((7, 2), (8, 0), (9, 1), (10, 3)):
            relay = a_relay(number, not_after=NOON + minutes * MINUTE)
            await with_swap(unit_of_work, number, relay)

        async with unit_of_work() as work:
            now = NOON + 2 * MINUTE
            assert await work.swaps_with_lapsed(now, limit=9) == [*map(swap_id, (8, 9, 7))]
            assert await work.swaps_with_lapsed(now, limit=2) == [*map(swap_id, (8, 9))]

    async def test_do_not_lapse_while_signed_bytes_may_deposit(
        self, unit_of_work: UnitOfWork
    ) -> None:
        relay = a_relay(7, not_after=NOON)
        await with_swap(unit_of_work, 7, relay)
        await sign_intent(unit_of_work, relay)

        async with unit_of_work() as work:
            assert await work.swaps_with_lapsed(NOON, limit=9) == []

    async def test_that_got_a_slot_within_a_day_and_failed_count_for_their_signer(
        self, unit_of_work: UnitOfWork
    ) -> None:
        now, dead = utc_now(), {"state": IntentState.DEAD, "dead_proof": "{}"}
        relays = [
            a_relay(7, not_after=NOON, slot_at=now - DAY + HOUR, **dead),
            a_relay(8, not_after=NOON, slot_at=now - DAY - HOUR, **dead),
            a_relay(9, not_after=NOON, slot_at=None, **dead),
            a_relay(10, not_after=NOON, slot_at=now, payer=OWNER, **dead),
            a_relay(11, not_after=NOON),
        ]
        for number, relay in zip(range(7, 12), relays, strict=True):
            await with_swap(unit_of_work, number, relay)

        async with unit_of_work() as work:
            assert await work.reverted_relays({USER, SIGNER}) == {USER: 1}


@BY_HAND
class TestIntentsWithoutASwap:
    async def test_are_found_by_the_deposit_that_they_pay(self, unit_of_work: UnitOfWork) -> None:
        deposit, other = a_deposit("seen"), a_deposit("seen", nth=1)
        claim = an_intent(IntentKind.CLAIM, "claim", paid_id=1, deposit_id=deposit.id)
        dead = replace(
            an_intent(IntentKind.CLAIM, "dead", paid_id=2, deposit_id=other.id),
            state=IntentState.DEAD,
            dead_proof="{}",
        )
        sweep = an_intent(IntentKind.SWEEP, "sweep")
        await flush(unit_of_work, Changes(deposits=(deposit, other), intents=(claim, dead, sweep)))

        async with unit_of_work() as work:
            assert await work.live_standalone_intents([deposit.id, other.id]) == {
                deposit.id: claim.id
            }
            assert await work.live_standalone_intents([]) == {}
            ids = [claim.id, dead.id, sweep.id]
            assert await work.lock_standalone_intents(ids) == {claim.id: claim, sweep.id: sweep}
            assert await work.lock_standalone_intents([]) == {}

    async def test_are_not_those_of_swaps(self, unit_of_work: UnitOfWork) -> None:
        relay = a_relay(7, not_after=NOON)
        await with_swap(unit_of_work, 7, relay)

        async with unit_of_work() as work:
            assert await work.lock_standalone_intents([relay.id]) == {}


class TestDeposits:
    @BY_HAND
    async def test_without_a_swap_are_ordered_by_their_receipt(
        self, unit_of_work: UnitOfWork
    ) -> None:
        late = replace(a_deposit("seen"), received_at=NOON + HOUR)
        early = replace(a_deposit("seen", nth=1), received_at=NOON)
        owned = replace(a_deposit("seen", nth=2), swap_id=swap_id(8))
        await with_swap(unit_of_work, 8)
        await flush(unit_of_work, Changes(deposits=(late, early, owned)))

        async with unit_of_work() as work:
            found = await work.unmatched_deposits([owned.id], [late.match_key or ""])
        assert list(found.values()) == [early, late]

    @BY_HAND
    async def test_open_no_swap_without_a_key(self, unit_of_work: UnitOfWork) -> None:
        attached = replace(a_deposit("seen"), swap_id=swap_id(7), attached_at=NOON)
        await with_swap(unit_of_work, 7)
        await flush(unit_of_work, Changes(deposits=(attached,)))

        async with unit_of_work() as work:
            opened = await work.open_deposits([SOME], keys=(), deposit_ids=[attached.id])
        assert opened.fresh == {SOME}
        assert opened.swaps == {}


@BY_HAND
class TestDepositAddresses:
    async def test_are_known_by_the_number_of_their_swap(self, unit_of_work: UnitOfWork) -> None:
        await self.assigned(unit_of_work)

        async with unit_of_work() as work:
            keys = {(ETHEREUM, ADDRESS), (POLYGON, ADDRESS)}
            assert await work.numbers_at(keys) == {(ETHEREUM, ADDRESS): NUMBER}
            assert await work.numbers_at(()) == {}

    async def test_are_those_of_one_swap(self, unit_of_work: UnitOfWork) -> None:
        await self.assigned(unit_of_work)
        again = DepositTarget(ETHEREUM, ADDRESS, sequence_number=8, since=NOON)

        with pytest.raises(Exception, match=r"another swap|deposit_address"):
            await flush(unit_of_work, begin(a_swap(8), again))

    async def test_get_back_what_was_swept_before_their_swap(
        self, unit_of_work: UnitOfWork
    ) -> None:
        swept, elsewhere = a_sweep("a"), a_sweep("b", from_address=OWNER)
        async with unit_of_work() as work:
            await work.save_swept([swept, elsewhere])
            await work.mark_swept_booked({swept.id: True, elsewhere.id: True})
        await self.assigned(unit_of_work)

        async with unit_of_work() as work:
            [one] = await work.take_over_swept({(ETHEREUM, ADDRESS)})
        async with unit_of_work() as work:
            assert list(await work.take_over_swept({(ETHEREUM, ADDRESS)})) == []
            assert list(await work.take_over_swept(())) == []
        assert (one.id, one.base_units, one.booked_base_units) == (swept.id, swept.base_units, 0)
        assert one.is_assigned

    async def test_keep_what_was_swept_for_their_swap(self, unit_of_work: UnitOfWork) -> None:
        swept = a_sweep("a")
        async with unit_of_work() as work:
            await work.save_swept([swept])
            await work.mark_swept_booked({swept.id: False})

        async with unit_of_work() as work:
            assert list(await work.take_over_swept({(ETHEREUM, ADDRESS)})) == []

    async def assigned(self, unit_of_work: UnitOfWork) -> None:
        target = DepositTarget(ETHEREUM, ADDRESS, sequence_number=NUMBER, since=NOON)
        await flush(unit_of_work, begin(a_swap(NUMBER), target))


def a_sweep(name: str, *, state: str = "confirmed", version: int = 2, **more: Any) -> SweptFact:
    fields: dict[str, Any] = {
        "id": uuid5(SOME, f"swept/{name}"),
        "version": version,
        "state": state,
        "network": ETHEREUM,
        "token": USDC[ETHEREUM],
        "from_address": ADDRESS,
        "base_units": 50,
        "transaction_hash": "0x" + "33" * 32,
        **BLOCK,
    }
    return SweptFact(**fields | more)


def a_withdrawal(
    name: str, *, state: str = "confirmed", version: int = 2, **more: Any
) -> Withdrawal:
    fields: dict[str, Any] = {
        "id": uuid5(SOME, f"withdrawn/{name}"),
        "version": version,
        "state": state,
        "network": ETHEREUM,
        "token": USDC[ETHEREUM],
        "treasury": TREASURY[ETHEREUM],
        "to_address": OWNER,
        "base_units": 50,
        "transaction_hash": "0x" + "44" * 32,
        **BLOCK,
    }
    return Withdrawal(**fields | more)


class TestSweeps:
    async def test_that_are_final_and_not_booked_are_ordered_by_block(
        self, unit_of_work: UnitOfWork
    ) -> None:
        later, first = a_sweep("a", block_number=9), a_sweep("b", block_number=8)
        seen = a_sweep("c", state="seen")
        beyond = a_sweep("d", base_units=2**129)
        other = a_sweep("e", network=POLYGON)
        async with unit_of_work() as work:
            await work.save_swept([later, first, seen, beyond, other])

        async with unit_of_work() as work:
            found = await work.lock_unbooked_sweeps(ETHEREUM, limit=9)
            assert [one.id for one in found] == [first.id, later.id]
            await work.mark_swept_booked({first.id: True})
        async with unit_of_work() as work:
            found = await work.lock_unbooked_sweeps(ETHEREUM, limit=9)
            assert [one.id for one in found] == [later.id]

    async def test_change_with_newer_facts_only(self, unit_of_work: UnitOfWork) -> None:
        final = a_sweep("a")
        async with unit_of_work() as work:
            await work.save_swept([final, replace(final, version=1, state="seen")])
        async with unit_of_work() as work:
            await work.save_swept([replace(final, state="seen")])
            await work.save_swept([replace(final, version=3, base_units=7, block_number=9)])

        async with unit_of_work() as work:
            [found] = await work.lock_unbooked_sweeps(ETHEREUM, limit=9)
        assert (found.base_units, found.block_number) == (50, 9)


class TestWithdrawals:
    async def test_that_are_final_and_not_booked_are_ordered_by_block(
        self, unit_of_work: UnitOfWork
    ) -> None:
        later, first = a_withdrawal("a", block_number=9), a_withdrawal("b", block_number=8)
        async with unit_of_work() as work:
            await work.save_withdrawals([later, first, a_withdrawal("c", state="seen")])

        async with unit_of_work() as work:
            assert list(await work.lock_unbooked_withdrawals(limit=9)) == [first, later]
            assert list(await work.lock_unbooked_withdrawals(limit=1)) == [first]
            await work.mark_withdrawals_booked([first.id])
        async with unit_of_work() as work:
            assert list(await work.lock_unbooked_withdrawals(limit=9)) == [later]

    async def test_change_with_newer_facts_only(self, unit_of_work: UnitOfWork) -> None:
        final = a_withdrawal("a")
        async with unit_of_work() as work:
            await work.save_withdrawals([final, replace(final, version=1, state="seen")])
        async with unit_of_work() as work:
            await work.save_withdrawals([replace(final, version=3, base_units=7, block_number=9)])

        async with unit_of_work() as work:
            [found] = await work.lock_unbooked_withdrawals(limit=9)
        assert found == replace(final, version=3, block_number=9)


class TestRefuels:
    async def ordered(self, unit_of_work: UnitOfWork, *numbers: int) -> Settler:
        """Create swaps with a final output and a waiting refuel."""
        run = Settler(unit_of_work)
        await run.deposits(funding(), funding(POLYGON, REFUEL * 10, token=NATIVE))
        await run.requests(*(a_request(n, refuel=True) for n in numbers))
        await run.deposits(*(a_deposit_message(number=n) for n in numbers))
        for n in numbers:
            transaction_hash = f"0x{n:064x}"
            await sign(unit_of_work, n, transaction_hash)
            paid = {"swap": a_swap(n), "transaction_hash": transaction_hash}
            seen, final = (a_payout_message(state, **paid) for state in ("seen", "confirmed"))  # type: ignore[arg-type]
            await run.payouts(seen, final)
        return run

    async def in_doubt(self, unit_of_work: UnitOfWork, *numbers: int) -> Sequence[UUID]:
        async with unit_of_work() as work:
            return sorted(await work.refuels_in_doubt([*map(swap_id, numbers)]))

    async def refuel(self, unit_of_work: UnitOfWork, number: int) -> Intent:
        async with unit_of_work() as work:
            refuel = (await work.lock_swaps_by_id([swap_id(number)]))[swap_id(number)].refuel
        assert refuel is not None
        return refuel

    async def test_are_in_no_doubt_while_they_wait(self, unit_of_work: UnitOfWork) -> None:
        await self.ordered(unit_of_work, 7)

        assert await self.in_doubt(unit_of_work, 7) == []

    async def test_are_in_doubt_while_their_signer_is_halted(
        self, unit_of_work: UnitOfWork
    ) -> None:
        await has_signer(unit_of_work)
        run = await self.ordered(unit_of_work, 7, 8)
        await flush(unit_of_work, Changes(halt=Halt(POLYGON, "an unknown payment")))

        assert await self.in_doubt(unit_of_work, 7, 9) == [swap_id(7)]
        run.now = NOON + HOUR
        await run.complete_swaps()
        async with unit_of_work() as work:
            swap = (await work.lock_swaps_by_id([swap_id(7)]))[swap_id(7)]
        assert swap.refuel is not None  # it may be paid: it is not abandoned

    async def test_are_in_doubt_when_their_id_was_paid_without_us(
        self, unit_of_work: UnitOfWork
    ) -> None:
        await self.ordered(unit_of_work, 7, 8)
        paid_id = (await self.refuel(unit_of_work, 7)).paid_id
        assert paid_id is not None
        entry = payout_unexplained(
            network=POLYGON,
            token=NATIVE,
            paid_id=paid_id,
            transaction_hash="0x" + "55" * 32,
            base_units=REFUEL,
            block_number=9,
            treasury=TREASURY[POLYGON],
        )
        await flush(unit_of_work, Changes(ledger=(entry,)))

        assert await self.in_doubt(unit_of_work, 7, 8) == [swap_id(7)]

    async def test_are_overdue_in_the_order_of_their_swaps(self, unit_of_work: UnitOfWork) -> None:
        await self.ordered(unit_of_work, 7, 8, 9)
        at, in_order = NOON + WAITS_FOR, sorted(map(swap_id, (7, 8, 9)))

        async with unit_of_work() as work:
            assert [swap.id for swap in await work.lock_overdue(at, limit=9)] == in_order
            assert [swap.id for swap in await work.lock_overdue(at, limit=2)] == in_order[:2]
            await work.drop_completions_due(in_order[1:])
        async with unit_of_work() as work:
            assert [swap.id for swap in await work.lock_overdue(at, limit=9)] == in_order[:1]


@BY_HAND
class TestFlush:
    async def test_keeps_the_newest_fact_of_a_deposit_and_what_never_changes(
        self, unit_of_work: UnitOfWork
    ) -> None:
        deposit = a_deposit("seen", version=2)
        await flush(unit_of_work, Changes(deposits=(deposit,)))
        older = replace(deposit, version=1, block_number=1)
        newer = replace(deposit, version=3, block_number=9, base_units=1, received_at=NOON)

        await flush(unit_of_work, Changes(deposits=(older,)))
        await flush(unit_of_work, Changes(deposits=(newer,)))

        async with unit_of_work() as work:
            found = await work.unmatched_deposits([deposit.id], ())
        assert found[deposit.id] == replace(deposit, version=3, block_number=9)

    async def test_does_not_write_what_the_lane_owns(self, unit_of_work: UnitOfWork) -> None:
        relay = a_relay(7, not_after=NOON)
        await with_swap(unit_of_work, 7, relay)
        await sign_intent(unit_of_work, relay)

        await flush(unit_of_work, Changes(intents=(replace(relay, base_units=1),)))

        async with unit_of_work() as work:
            swap = (await work.lock_swaps_by_id([swap_id(7)]))[swap_id(7)]
        assert swap.relay is not None
        assert swap.relay.base_units == REQUESTED
        assert swap.relay.has_open_attempt
        assert len(swap.relay.attempts) == 1

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"kind": IntentKind.CLAIM, "paid_id": 1}, {"kind": IntentKind.REFUEL, "paid_id": 1}),
            (
                {"kind": IntentKind.OUTPUT, "paid_id": 1},
                {"kind": IntentKind.REFUND, "paid_id": 2, "charged_base_units": REQUESTED},
            ),
            ({"kind": IntentKind.REFUEL, "paid_id": 1}, {"kind": IntentKind.REFUEL, "paid_id": 2}),
            ({"kind": IntentKind.CLAIM, "paid_id": 1}, {"kind": IntentKind.CLAIM, "paid_id": 2}),
            (A_RELAY, A_RELAY),
        ],
        ids=["one id", "payout or refund", "one refuel", "one claim", "one relay"],
    )
    @pytest.mark.breaks_invariants("I-22", "I-07")  # no deposit covers them
    async def test_refuses_a_second_live_payment(
        self, unit_of_work: UnitOfWork, first: dict[str, Any], second: dict[str, Any]
    ) -> None:
        owned = {"swap_id": swap_id(7)}
        one, two = an_intent(name="one", **owned, **first), an_intent(name="two", **owned, **second)
        await with_swap(unit_of_work, 7, one)

        with pytest.raises(Exception, match=r"there already|one_live|payout_or_refund"):
            await flush(unit_of_work, Changes(intents=(two,)))

        dead = replace(one, state=IntentState.DEAD, dead_proof="{}")
        await flush(unit_of_work, Changes(intents=(two, dead)))

    async def test_refuses_a_payment_that_left_without_a_slot(
        self, unit_of_work: UnitOfWork
    ) -> None:
        relay = a_relay(7, not_after=NOON)
        await with_swap(unit_of_work, 7, relay)

        mined = replace(relay, state=IntentState.MINED)
        with pytest.raises(Exception, match=r"without a slot|intent"):
            await flush(unit_of_work, Changes(intents=(mined,)))

    async def test_refuses_a_second_swap_of_a_number(self, unit_of_work: UnitOfWork) -> None:
        swap = await with_swap(unit_of_work, 7)

        with pytest.raises(Exception, match=r"another swap|match_key|sequence_number"):
            await flush(unit_of_work, begin(replace(swap, id=swap_id(8))))

    async def test_changes_only_the_refund_address_of_what_was_agreed(
        self, unit_of_work: UnitOfWork
    ) -> None:
        swap = await with_swap(unit_of_work, 7)
        terms = replace(swap.terms, refund_address=USER, destination_address=OWNER)

        changed = replace(swap, sequence=2, terms=terms)
        cause = ChangeCause.REFUND_ADDRESS_SET
        change = Changes(swap=changed, previous_status=swap.status, cause=cause)
        await flush(unit_of_work, change)

        async with unit_of_work() as work:
            found = (await work.lock_swaps_by_id([swap.id]))[swap.id]
        assert found.terms == replace(swap.terms, refund_address=USER)
