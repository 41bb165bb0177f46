"""An operator reconciles a payment without an intent in the restored ledger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from uuid import UUID, uuid5

import pytest

from services.settler.tests.integration.reconciling import explaining
from services.settler.tests.integration.recovery_worlds import (
    opened_destination,
    opened_source,
)
from services.settler.tests.integration.test_lane_schedules import Watcher
from services.settler.tests.integration.test_recovery_ends import (
    OPERATOR_ORDER,
    is_held,
    keep_on,
    statuses,
    try_to_end,
)
from services.settler.tests.lane_harness import (
    DESTINATION,
    IDS,
    PAYOUT,
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
)
from services.settler.tests.recovery_harness import (
    fence,
    finishing,
    make_forgotten,
    restore_database,
)
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine
from swap_settler.operator.store import external_payments
from swap_settler.operator.usecases.reconcile_unknown_payments import NOTHING_WAITS

pytestmark = [pytest.mark.connected, pytest.mark.fault("P6")]
BACK = REQUESTED - 10**13  # a refund pays for its gas
OWNER = a_recipient(88)  # the proven owner of a claimable balance
SECOND = uuid5(IDS, "deposit/1/second")

# An operator explains a payment that the swap does not allow, not the ledger.
BEYOND = pytest.mark.breaks_invariants("I-27")


@pytest.fixture
async def world(watcher: Engine, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_destination(migrate_schema) as world:
        await world.settle(a_funding(1))
        yield world


@pytest.fixture
async def source_world(world: World, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_source(migrate_schema) as source_world:
        yield source_world


async def recovered(watcher: Engine, *worlds: World) -> None:
    """Restore the database, and let the recovery end automatically."""
    for side in worlds:
        side.chain.mine(4)
    await restore_database(worlds[0])
    for side in worlds:
        await Watcher(side).report()
        await fence(side)
    assert await try_to_end(watcher, *worlds)


async def requested(world: World, number: int = 1, *, can_refund: bool = True) -> None:
    address = a_recipient(number) if can_refund else None
    await world.requesting()([a_request(number, refund_address=address)])


def a_second_deposit(units: int = REQUESTED) -> Any:
    return a_deposit(1, deposit_id=SECOND, transaction_hash="0x" + "22" * 32, base_units=str(units))


async def refund_of(world: World, leg: UUID | None = None) -> Mapping[str, Any]:
    condition = "IS NULL" if leg is None else f"= '{leg}'"
    [row] = await world.rows(
        "SELECT state, base_units::text AS units, to_address, transaction_hash FROM intent "
        f"WHERE kind = 'refund' AND deposit_id {condition}"
    )
    return dict(row._asdict())


async def owed(world: World) -> dict[str, int]:
    rows = await world.rows(
        "SELECT kind, sum(balance) AS held FROM account WHERE kind IN "
        "('in_flight', 'payout_suspense', 'claimable', 'suspense', 'swap_liability') GROUP BY kind"
    )
    return {row.kind: int(row.held) for row in rows if row.held}


class TestRefund:
    async def test_ends_its_swap_as_refunded_and_frees_the_output(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        """The restored ledger would pay the swap out."""
        await requested(world)
        await world.settle(a_deposit(1))
        made = await make_forgotten(source_world, 1, "refund", nonce=0, units=BACK)
        await recovered(watcher, world, source_world)
        assert await statuses(world) == ["ls_transfer_pending"]

        [ended] = await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)
        for side in (world, source_world):
            await keep_on(side)

        assert (ended.end, ended.swap_id) == ("made", a_request(1).body.swap_id)
        assert await statuses(world) == ["refunded"]
        assert await refund_of(world) == {
            "state": "confirmed",
            "units": str(BACK),
            "to_address": a_recipient(1),
            "transaction_hash": made.transaction_hash,
        }
        assert (source_world.paid_amount(1), world.paid_amount(1)) == (BACK, 0)
        assert await owed(world) == {}
        assert await finishing(world).list_retained() == []
        assert not await is_held(world, 1)
        messages = await world.rows(
            "SELECT convert_from(payload, 'UTF8')::jsonb -> 'body' ->> 'status' AS status "
            "FROM outbox WHERE topic = 'swap.changed.v1' ORDER BY id DESC LIMIT 3"
        )
        assert [row.status for row in messages] == ["refunded", "pending_refund", "pending_refund"]
        [stored] = await world.rows("SELECT outcome, named_by FROM taken_payment")
        assert (stored.outcome, stored.named_by) == ("made", OPERATOR_ORDER["by"])

    async def test_of_a_swap_that_waits_for_another_quote(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        await requested(world)
        await world.settle(a_deposit(1, base_units=str(REQUESTED // 2)))
        back = REQUESTED // 2 - 10**13
        made = await make_forgotten(source_world, 1, "refund", nonce=0, units=back)
        await recovered(watcher, world, source_world)
        assert await statuses(world) == ["user_transfer_pending"]

        await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)

        assert await statuses(world) == ["refunded"]
        assert await owed(world) == {}

    async def test_leaves_later_deposits_on_their_own_leg(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        """Both deposits are replayed together; each was refunded separately."""
        await requested(world)
        half = REQUESTED // 2
        back = half - 10**13
        await world.settle(a_deposit(1, base_units=str(half)), a_second_deposit(half))
        first = await make_forgotten(source_world, 1, "refund", nonce=0, units=back)
        second = await make_forgotten(
            source_world, 1, "refund", nonce=1, units=back, leg=str(SECOND)
        )
        await recovered(watcher, world, source_world)
        with pytest.raises(RequestRefused, match="this leg of it cannot be refunded"):
            await explaining(source_world)(SOURCE, second.transaction_hash, **OPERATOR_ORDER)

        await explaining(source_world)(SOURCE, first.transaction_hash, **OPERATOR_ORDER)
        assert await is_held(world, 1)
        await explaining(source_world)(SOURCE, second.transaction_hash, **OPERATOR_ORDER)
        await source_world.starting_refunds()()
        await keep_on(source_world)

        assert await statuses(world) == ["refunded"]
        for leg, made in ((None, first), (SECOND, second)):
            refund = await refund_of(world, leg)
            assert refund["transaction_hash"] == made.transaction_hash
        assert source_world.paid_amount(1) == 2 * back
        assert await owed(world) == {}

    @BEYOND
    async def test_to_another_address_leaves_the_money_claimable(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        await requested(world)
        await world.settle(a_deposit(1))
        made = await make_forgotten(
            source_world, 1, "refund", nonce=0, units=BACK, to_address=OWNER
        )
        await recovered(watcher, world, source_world)

        [ended] = await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)

        assert (ended.end, await statuses(world)) == ("failed", ["failed"])
        assert await owed(world) == {"claimable": -REQUESTED, "payout_suspense": BACK}

    @BEYOND
    @pytest.mark.parametrize("units", [1, REQUESTED + 1])
    async def test_of_another_sum_than_the_swap_allows_is_left_to_an_operator(
        self, world: World, source_world: World, watcher: Engine, units: int
    ) -> None:
        """A refund costs at most its gas at the highest fee of its network."""
        await world.settle(a_deposit(7, kind="native_received", sequence_number=None))
        await requested(world)
        await world.settle(a_deposit(1))
        made = await make_forgotten(source_world, 1, "refund", nonce=0, units=units)
        await recovered(watcher, world, source_world)

        [ended] = await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)
        await keep_on(source_world)

        assert (ended.end, await statuses(world)) == ("left", ["pending_refund"])
        assert source_world.paid_amount(1) == units

    async def test_waits_also_for_a_lost_address(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        await requested(world, can_refund=False)
        await world.settle(a_deposit(1))
        made = await make_forgotten(source_world, 1, "refund", nonce=0, units=BACK)
        await recovered(watcher, world, source_world)
        with pytest.raises(RequestRefused, match="it has no refund address: set it first"):
            await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)
        assert await statuses(world) == ["ls_transfer_pending"]

        await world.refund_address(1, a_recipient(1))
        await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)

        assert await statuses(world) == ["refunded"]

    async def test_is_booked_once_of_two_orders(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        await requested(world)
        await world.settle(a_deposit(1))
        made = await make_forgotten(source_world, 1, "refund", nonce=0, units=BACK)
        await recovered(watcher, world, source_world)

        ends = await asyncio.gather(
            *(
                explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)
                for _ in range(2)
            ),
            return_exceptions=True,
        )

        refused = [end for end in ends if isinstance(end, RequestRefused)]
        assert [str(one) for one in refused] == [NOTHING_WAITS]
        assert await statuses(world) == ["refunded"]

    async def test_is_not_explained_before_its_recovery_has_ended(
        self, world: World, source_world: World
    ) -> None:
        await requested(world)
        await world.settle(a_deposit(1))
        made = await make_forgotten(source_world, 1, "refund", nonce=0, units=BACK)
        source_world.chain.mine(4)
        await restore_database(world)
        await Watcher(source_world).report()

        with pytest.raises(RequestRefused, match="once its recovery has ended"):
            await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)

    async def test_is_in_the_audit_log_or_not_made(
        self, world: World, source_world: World, watcher: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The order, the intent and the status are one transaction."""
        await requested(world)
        await world.settle(a_deposit(1))
        made = await make_forgotten(source_world, 1, "refund", nonce=0, units=BACK)
        await recovered(watcher, world, source_world)
        orders: list[object] = []

        async def fail(connection: Any) -> None:
            await log_order(connection)
            orders.append(connection)
            raise ConnectionError

        monkeypatch.setattr(external_payments, "log_order", fail)
        with pytest.raises(ConnectionError):
            await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)

        assert len(orders) == 1
        assert await statuses(world) == ["ls_transfer_pending"]
        assert await world.intent_states() == ["reserved"]


class TestClaim:
    async def test_of_a_swap_ends_it_as_failed_and_paid(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        """Its output was abandoned in the lost period, and an operator paid its owner."""
        await requested(world, can_refund=False)
        await world.settle(a_deposit(1))
        leg = f"main/{SOURCE}/{NATIVE}"
        values = {"units": REQUESTED, "leg": leg, "to_address": OWNER}
        made = await make_forgotten(source_world, 1, "claim", nonce=0, **values)
        await recovered(watcher, world, source_world)

        [ended] = await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)
        for side in (world, source_world):
            await keep_on(side)

        assert (ended.end, await statuses(world)) == ("made", ["failed"])
        assert await owed(world) == {}
        [claim] = await world.rows("SELECT * FROM intent WHERE kind = 'claim'")
        assert (claim.state, claim.transaction_hash) == ("confirmed", made.transaction_hash)
        assert (source_world.paid_amount(88), world.paid_amount(1)) == (REQUESTED, 0)
        causes = {row.cause for row in await world.rows("SELECT cause FROM swap_transition")}
        assert "payment_reconciled" in causes
        assert "payment_ordered" not in causes
        assert await finishing(world).list_retained() == []

    async def test_of_a_deposit_without_a_swap(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        await world.settle(a_deposit(5, kind="native_received", sequence_number=None))
        deposit_id = a_deposit(5).body.deposit_id
        leg = f"{deposit_id}/{SOURCE}/{NATIVE}"
        values = {"units": REQUESTED, "leg": leg, "owner": deposit_id, "to_address": OWNER}
        made = await make_forgotten(source_world, 5, "claim", nonce=0, **values)
        await recovered(watcher, world, source_world)
        assert await owed(world) == {"suspense": -REQUESTED, "payout_suspense": REQUESTED}

        [ended] = await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)

        assert (ended.end, ended.swap_id) == ("made", None)
        assert await owed(world) == {}
        assert await finishing(world).list_retained() == []

    @BEYOND
    async def test_of_another_sum_is_left_to_an_operator(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        await requested(world, can_refund=False)
        await world.settle(a_deposit(1))
        leg = f"main/{SOURCE}/{NATIVE}"
        values = {"units": REQUESTED - 1, "leg": leg, "to_address": OWNER}
        made = await make_forgotten(source_world, 1, "claim", nonce=0, **values)
        await recovered(watcher, world, source_world)

        [ended] = await explaining(source_world)(SOURCE, made.transaction_hash, **OPERATOR_ORDER)

        assert ended.end == "left"


class TestOutput:
    async def test_by_the_swap_s_quote_leaves_the_excess_on_its_own_leg(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        """More arrived than was requested: the restored ledger waits for another quote."""
        await requested(world)
        await world.settle(a_deposit(1, base_units=str(2 * REQUESTED)))
        made = await make_forgotten(world, 1, "output", nonce=0)
        await recovered(watcher, world, source_world)
        assert await statuses(world) == ["user_transfer_pending"]

        [ended] = await explaining(world)(DESTINATION, made.transaction_hash, **OPERATOR_ORDER)
        await source_world.starting_refunds()()
        await source_world.send_everything()
        source_world.chain.mine(4)

        assert (ended.end, await statuses(world)) == ("made", ["completed"])
        assert world.paid_amount(1) == PAYOUT
        assert 0 < source_world.paid_amount(1) < REQUESTED

    async def test_by_another_quote_stays_held(
        self, world: World, source_world: World, watcher: Engine
    ) -> None:
        await requested(world)
        await world.settle(a_deposit(1, base_units=str(REQUESTED // 2)))
        made = await make_forgotten(world, 1, "output", nonce=0, units=PAYOUT // 2)
        await recovered(watcher, world, source_world)

        with pytest.raises(RequestRefused, match="its quote pays"):
            await explaining(world)(DESTINATION, made.transaction_hash, **OPERATOR_ORDER)

        assert await is_held(world, 1)
