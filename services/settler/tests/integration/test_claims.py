"""Claimable balances on a real Postgres and a chain in memory: paid once, despite any crash."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from services.settler.tests.admin_port import as_operator
from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    NOW,
    REQUESTED,
    SOURCE,
    TREASURY,
    World,
    a_deposit,
    a_recipient,
    a_sweep,
    expect_wrong_nonces,
)
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_runtime.errors import RequestRefused, Unprocessable
from swap_settler.model.swap import Intent
from swap_settler.operator.http.claims import ClaimAdmin
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.usecases.attach_claimable import AttachClaimable
from swap_settler.operator.usecases.pay_claimable import PayClaimable, PaymentOrder
from swap_settler.paying.usecases import send_payouts
from swap_settler.settling.decide.deposits import NotReversible
from tests.support.crashes import ProcessKilled, killed_at
from tests.support.serving import client_of, post

pytestmark = pytest.mark.connected

OWNER = a_recipient(77)
UNMATCHED: dict[str, Any] = {"kind": "native_received", "sequence_number": None}
BALANCES = """
SELECT kind, -balance AS units FROM account
WHERE kind IN ('claimable', 'suspense', 'in_flight', 'swap_liability') AND balance <> 0 ORDER BY id
"""


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        yield world


def paying(
    world: World, *, later: timedelta = timedelta(0), prices: FixedPrices | None = None
) -> PayClaimable:
    return PayClaimable(
        PostgresClaimUnitOfWork(world.engine, consumer="settler"),
        catalogue=world.catalogue,
        clock=lambda: NOW + later,
        swap_messages=world.swap_messages,
        prices=prices or FixedPrices(),
    )


async def only_balance(world: World) -> int:
    [row] = await world.rows(
        "SELECT id FROM account WHERE kind IN ('claimable', 'suspense') AND balance <> 0"
    )
    return int(row.id)


async def ordered(world: World, id: int, *, units: int = REQUESTED, to: str = OWNER) -> Intent:
    return await paying(world)(PaymentOrder(id, units, to, by="ann", reason="they proved it"))


async def balances(world: World) -> list[tuple[str, int]]:
    return [(row.kind, int(row.units)) for row in await world.rows(BALANCES)]


async def the_only_hash(world: World) -> str:
    [attempt] = await world.rows("SELECT transaction_hash FROM attempt")
    return str(attempt.transaction_hash)


async def a_failed_swap(world: World) -> int:
    """Return the balance of a swap with a failed payout and no refund address."""
    await world.request_swap(1)
    await world.settle(a_deposit(1))
    return await only_balance(world)


async def an_unmatched_transfer(world: World) -> int:
    await world.settle(a_deposit(5, **UNMATCHED))
    return await only_balance(world)


async def a_sweep_without_swap(world: World) -> int:
    await world.settle(a_sweep(1, transaction_hash="0x" + "ee" * 32))
    await world.book_sweeps()
    return await only_balance(world)


EACH = pytest.mark.parametrize("waiting", [a_failed_swap, an_unmatched_transfer])


class TestABalance:
    @EACH
    async def test_is_paid_in_full_and_booked(
        self, world: World, waiting: Callable[[World], Any]
    ) -> None:
        await ordered(world, await waiting(world))
        assert await balances(world) == [("in_flight", REQUESTED)]

        await world.send_everything()
        world.chain.mine()
        await world.payout("seen", version=1, transaction_hash=await the_only_hash(world))
        await world.payout("confirmed", version=2, transaction_hash=await the_only_hash(world))

        assert world.chain.world.balances[OWNER, NATIVE] == REQUESTED
        assert await world.intent_states() == ["confirmed"]
        assert await balances(world) == []
        [results] = await world.rows("SELECT ordered_by, ordered_because FROM intent")
        assert results == ("ann", "they proved it")

    async def test_is_not_payable_while_its_network_is_absent(self, world: World) -> None:
        id = await a_failed_swap(world)
        world.catalogue = replace(world.catalogue, networks={})

        with pytest.raises(RequestRefused, match=f"{SOURCE} is not a network of the catalogue"):
            await ordered(world, id)

        assert await balances(world) == [("claimable", REQUESTED)]

    @EACH
    @pytest.mark.fault("M8")
    async def test_is_paid_once_when_it_is_ordered_many_times_m8(
        self, world: World, waiting: Callable[[World], Any]
    ) -> None:
        id = await waiting(world)

        results = await asyncio.gather(
            *(ordered(world, id) for _ in range(5)), return_exceptions=True
        )

        assert sum(isinstance(one, Intent) for one in results) == 1
        assert sum(isinstance(one, RequestRefused) for one in results) == 4
        await world.send_everything()
        world.chain.mine()
        with pytest.raises(RequestRefused):
            await ordered(world, id)
        assert world.chain.world.balances[OWNER, NATIVE] == REQUESTED

    @EACH
    async def test_is_claimable_again_when_its_recipient_refuses(
        self, world: World, waiting: Callable[[World], Any]
    ) -> None:
        id = await waiting(world)
        world.chain.refuse(OWNER)
        await ordered(world, id)
        for _ in range(2):
            await world.send_everything()
        assert await world.intent_states() == ["dead"]
        assert (await balances(world))[0][1] == REQUESTED

        again = await paying(world, later=timedelta(hours=1))(
            PaymentOrder(id, REQUESTED, a_recipient(78), by="ann", reason="their other wallet")
        )
        await world.send_everything()
        world.chain.mine()

        assert again.to_address == a_recipient(78)
        assert world.paid_amount(78) == REQUESTED
        ids = {row.paid_id for row in await world.rows("SELECT paid_id FROM intent")}
        assert len(ids) == 1, "the Treasury accepts it once, whoever it goes to"

    @EACH
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("settler.after_slot", id="S2"),
            pytest.param("settler.after_sign", id="S3"),
            pytest.param("settler.before_send", id="S4"),
            pytest.param("settler.after_send", id="S5"),
        ],
    )
    @pytest.mark.fault("S2", "S3", "S4", "S5")
    async def test_is_paid_once_after_any_crash(
        self,
        world: World,
        monkeypatch: pytest.MonkeyPatch,
        waiting: Callable[[World], Any],
        point: str,
    ) -> None:
        await ordered(world, await waiting(world))

        killed_at(monkeypatch, point, send_payouts)
        if point == "settler.after_slot":
            expect_wrong_nonces(monkeypatch)
        with pytest.raises(ProcessKilled):
            await world.send_everything()
        await world.send_everything()
        await world.rebroadcast()
        world.chain.mine()

        assert world.chain.world.balances[OWNER, NATIVE] == REQUESTED
        assert len(await world.rows("SELECT 1 FROM attempt")) == 1

    @EACH
    async def test_that_a_reorg_takes_before_it_is_signed_is_not_paid(
        self, world: World, waiting: Callable[[World], Any]
    ) -> None:
        await ordered(world, await waiting(world))

        deposit = (await world.rows("SELECT id, sequence_number FROM deposit"))[0]
        number = deposit.sequence_number
        results = UNMATCHED if number is None else {"sequence_number": number}
        gone = a_deposit(5, deposit_id=deposit.id, version=3, state="reverted", **results)
        await world.settle(gone)
        await world.send_everything()

        assert await world.intent_states() == ["dead"]
        assert await balances(world) == []
        assert await world.rows("SELECT 1 FROM attempt") == []

    async def test_without_a_swap_that_a_reorg_removes_after_its_payment_is_for_an_operator(
        self, world: World
    ) -> None:
        await ordered(world, await an_unmatched_transfer(world))
        await world.send_everything()

        with pytest.raises(NotReversible):
            await world.settle(a_deposit(5, **UNMATCHED, version=3, state="reverted"))

    async def test_of_a_swap_is_not_refunded_beside(self, world: World) -> None:
        await ordered(world, await a_failed_swap(world))

        await world.refund_address(1, a_recipient(9))
        await world.starting_refunds()()

        [swap] = await world.rows("SELECT status, refund_address FROM swap")
        assert swap == (Status.FAILED.value, a_recipient(9))
        assert await world.intent_states() == ["reserved"]

    async def test_of_a_deposit_whose_swap_may_be_created_waits(self, world: World) -> None:
        await world.settle(a_deposit(5))
        id = await only_balance(world)

        with pytest.raises(RequestRefused, match="may still come"):
            await ordered(world, id)
        order = PaymentOrder(id, REQUESTED, OWNER, by="ann", reason="nobody came")
        assert (await paying(world, later=timedelta(hours=7))(order)).to_address == OWNER

    async def test_that_was_swept_from_an_address_without_swap_is_paid_once_no_swap_can_have_it(
        self, world: World
    ) -> None:
        id = await a_sweep_without_swap(world)
        with pytest.raises(RequestRefused, match="may still come"):
            await ordered(world, id)

        order = PaymentOrder(id, REQUESTED, OWNER, by="ann", reason="they proved it")
        await paying(world, later=timedelta(hours=7))(order)
        assert await balances(world) == [("in_flight", REQUESTED)]
        await world.send_everything()
        world.chain.mine()
        results = await the_only_hash(world)
        await world.payout("confirmed", version=1, transaction_hash=results)

        assert world.chain.world.balances[OWNER, NATIVE] == REQUESTED
        assert await balances(world) == []
        with pytest.raises(Unprocessable, match="went back"):
            await world.request_with_addresses(1)

    async def test_that_was_swept_from_an_address_without_swap_is_not_paid_when_a_swap_has_it(
        self, world: World
    ) -> None:
        id = await a_sweep_without_swap(world)

        await world.request_with_addresses(1)

        with pytest.raises(RequestRefused):
            await ordered(world, id)


class TestAnOrder:
    @pytest.mark.parametrize(
        ("to", "units", "words"),
        [
            (OWNER, REQUESTED - 1, "list it again"),
            (TREASURY, REQUESTED, "would keep it"),
            (NATIVE, REQUESTED, "would keep it"),
            ("0x12", REQUESTED, "not an address"),
            ("0x" + "aB" * 20, REQUESTED, "checksum"),
        ],
    )
    async def test_that_cannot_be_right_is_refused(
        self, world: World, to: str, units: int, words: str
    ) -> None:
        id = await a_failed_swap(world)

        with pytest.raises(RequestRefused, match=words):
            await ordered(world, id, units=units, to=to)
        assert await world.intent_states() == []

    async def test_is_given_on_the_internal_port(self, world: World) -> None:
        id = await a_failed_swap(world)
        attach = AttachClaimable(
            PostgresClaimUnitOfWork(world.engine, consumer="settler"),
            clock=world.clock,
            swap_messages=world.swap_messages,
        )
        admin = ClaimAdmin(pay_claimable=paying(world), attach_claimable=attach)
        body = {
            "base_units": str(REQUESTED),
            "to_address": OWNER,
            "by": "ann",
            "reason": "they proved it",
        }

        async with client_of(post("/{id}", as_operator(admin.pay))) as http:
            wrong = await http.post("/seven", json=body)
            short = await http.post(f"/{id}", json={**body, "reason": " "})
            paid = await http.post(f"/{id}", json=body)
            results = await paid.json()

        assert (wrong.status, short.status, paid.status) == (400, 400, 200)
        assert (results["base_units"], results["to_address"]) == (str(REQUESTED), OWNER)
