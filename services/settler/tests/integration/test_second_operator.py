"""Orders above an amount (claimables, caps, stops) wait for a second operator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from services.settler.tests.admin_port import a_dollar_each, weighing
from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    NOW,
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_recipient,
)
from swap_runtime.operators.admin_routes import OrderRoute
from swap_runtime.operators.identities import Operator, Role
from swap_settler.operator.decide.signer import EVERYWHERE
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.http.blocked import BlockedAdmin
from swap_settler.operator.http.caps import CapAdmin
from swap_settler.operator.http.claims import ClaimAdmin
from swap_settler.operator.http.second_operator import SecondOperator
from swap_settler.operator.http.signers import SignerAdmin
from swap_settler.operator.http.stops import StopAdmin
from swap_settler.operator.store.blocked import PostgresBlocked
from swap_settler.operator.store.caps import PostgresCaps
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.store.signers import PostgresSigners
from swap_settler.operator.store.stops import PostgresStops
from swap_settler.operator.usecases.attach_claimable import AttachClaimable
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.list_signers import ListSigners
from swap_settler.operator.usecases.manage_blocked_addresses import ManageBlockedAddresses
from swap_settler.operator.usecases.manage_caps import ManageCaps
from swap_settler.operator.usecases.pay_claimable import PayClaimable
from swap_settler.operator.usecases.stop_payouts import StopPayouts
from tests.plugins.internal_port import internal_port

pytestmark = pytest.mark.connected

OWNER = a_recipient(77)
DAY = timedelta(days=1)
OPERATORS = {f"token of {name}": Operator(name, Role.OPERATOR) for name in ("ann", "ben", "cy")}


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        yield world


class Settler:
    """The settler's orders on an internal port."""

    def __init__(self, url: str, world: World) -> None:
        self._url = url
        self.world = world

    async def ask(self, name: str, path: str, **body: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer token of {name}"}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.post(f"{self._url}{path}", json={"reason": "as agreed", **body}) as answer,
        ):
            return answer.status, await answer.json()

    async def pay(self, id: int, *, by: str = "ann", units: int = REQUESTED) -> tuple[int, Any]:
        return await self.ask(by, f"/claimable/{id}/pay", base_units=str(units), to_address=OWNER)

    async def approve(self, answer_document: Any, *, by: str = "ben") -> tuple[int, Any]:
        return await self.ask(by, f"/approvals/{answer_document['proposal']['id']}/approve")

    async def claims(self) -> list[tuple[str, int]]:
        rows = await self.world.rows(
            "SELECT ordered_by, base_units FROM intent WHERE kind = 'claim'"
        )
        return [(row.ordered_by, int(row.base_units)) for row in rows]

    async def last_logged(self) -> tuple[str, str, str]:
        """Return operator, outcome and reason of the newest order."""
        [row] = await self.world.rows(
            "SELECT operator, outcome, reason FROM operator_order ORDER BY id DESC LIMIT 1"
        )
        return row.operator, row.outcome, row.reason

    async def commits_with(self, table: str) -> bool:
        """Return whether one transaction wrote the newest order and the newest row of a table."""
        rows = await self.world.rows(
            f"(SELECT xmin AS id FROM {table} ORDER BY xmin::text::bigint DESC LIMIT 1) UNION "
            "(SELECT xmin FROM operator_order ORDER BY operator_order.id DESC LIMIT 1)"
        )
        return len(rows) == 1


@asynccontextmanager
async def serving(
    world: World, *, above: int, prices: FixedPrices | None = None
) -> AsyncIterator[Settler]:
    engine, catalogue = world.engine, world.catalogue
    stakes = weighing(engine, catalogue, prices=prices or a_dollar_each(catalogue), above=above)
    second, work = SecondOperator(stakes), PostgresClaimUnitOfWork(engine, consumer="settler")
    claims = ClaimAdmin(
        pay_claimable=PayClaimable(
            work,
            catalogue=catalogue,
            clock=lambda: NOW,
            swap_messages=world.swap_messages,
            prices=prices or a_dollar_each(catalogue),
        ),
        attach_claimable=AttachClaimable(
            work, clock=lambda: NOW, swap_messages=world.swap_messages
        ),
    )
    caps = CapAdmin(
        ManageCaps(PostgresCaps(engine, networks=[SOURCE]), catalogue=catalogue), stakes
    )
    stops = StopAdmin(
        StopPayouts(PostgresStops(engine), networks=list(catalogue.networks)),
        guard_losses=GuardLosses(PostgresLosses(engine), budgets={}, span=DAY),
    )
    signers = SignerAdmin(
        list_signers=ListSigners(PostgresSigners(engine)),
        resume_signers=world.resuming(),
        clock=lambda: NOW,
    )
    blocked = BlockedAdmin(ManageBlockedAddresses(PostgresBlocked(engine), catalogue=catalogue))
    resume = "/signers/{network}/resume"
    internal = internal_port(
        engine,
        OPERATORS,
        orders=[
            OrderRoute("/claimable/{id}/pay", claims.pay, second.pays_claimable),
            OrderRoute("/claimable/{id}/attach", claims.attach, second.attaches_claimable),
            OrderRoute("/caps", caps.set, second.sets_cap, caps.add_present_for_new),
            OrderRoute("/caps/lift", caps.lift, second.lifts_cap, caps.add_present),
            OrderRoute("/payouts/stop", stops.stop),
            OrderRoute("/payouts/go", stops.lift, second.lifts_stop),
            OrderRoute("/blocked", blocked.block),
            OrderRoute("/blocked/lift", blocked.lift, second.lifts_block),
            OrderRoute(resume, signers.resume, second.resumes_signers, signers.add_halts),
        ],
    )
    number = await internal.start("127.0.0.1", 0)
    try:
        yield Settler(f"http://127.0.0.1:{number}/admin", world)
    finally:
        await internal.stop()


async def a_claimable(world: World) -> int:
    await world.request_swap(1)
    await world.settle(a_deposit(1))
    [row] = await world.rows("SELECT id FROM account WHERE kind = 'claimable' AND balance <> 0")
    return int(row.id)


async def value_of(world: World, id: int) -> int:
    """Return a balance's value in micro-dollars, at a dollar a token."""
    [row] = await world.rows(f"SELECT network, token, -balance AS units FROM account WHERE id={id}")
    found = world.catalogue.network(row.network).find_token(row.token)
    assert found is not None
    return -(-int(row.units) * 10**6 // 10**found.decimals)


class TestAClaim:
    async def test_up_to_the_amount_is_paid_by_one_operator(self, world: World) -> None:
        id = await a_claimable(world)
        async with serving(world, above=await value_of(world, id)) as settler:
            assert (await settler.pay(id))[0] == 200

            assert await settler.claims() == [("ann", REQUESTED)]
            assert await settler.last_logged() == ("ann", "done", "as agreed")
            assert await settler.commits_with("intent")

    async def test_above_the_amount_is_paid_once_when_another_operator_approves(
        self, world: World
    ) -> None:
        id = await a_claimable(world)
        async with serving(world, above=await value_of(world, id) - 1) as settler:
            status, answer_document = await settler.pay(id)
            assert status == 202
            assert await settler.claims() == []
            assert (await settler.approve(answer_document, by="ann"))[0] == 409
            assert await settler.claims() == []

            answers = await asyncio.gather(
                *(settler.approve(answer_document, by=by) for by in ("ben", "cy") * 3)
            )

            assert sorted(status for status, _ in answers) == [200] + [409] * 5
            [(by, units)] = await settler.claims()
            assert by in ("ann, approved by ben", "ann, approved by cy")
            assert units == REQUESTED
            await world.send_everything()
            world.chain.mine()
            assert len(await world.rows("SELECT 1 FROM intent WHERE kind = 'claim'")) == 1

    async def test_is_measured_by_the_balance_and_not_by_the_ordered_part(
        self, world: World
    ) -> None:
        id = await a_claimable(world)
        async with serving(world, above=await value_of(world, id) - 1) as settler:
            assert (await settler.pay(id, units=1))[0] == 202

    async def test_that_is_paid_meanwhile_is_not_paid_again(self, world: World) -> None:
        id = await a_claimable(world)
        async with serving(world, above=0) as settler:
            answer_document = [(await settler.pay(id))[1] for _ in range(2)]
            assert (await settler.approve(answer_document[0]))[0] == 200

            status, refused = await settler.approve(answer_document[1])

            assert (status, len(await settler.claims())) == (409, 1)
            assert "nothing is claimable" in refused["error"]

    async def test_without_a_price_waits_for_a_second_operator(self, world: World) -> None:
        id = await a_claimable(world)
        async with serving(world, above=10**18, prices=FixedPrices({})) as settler:
            status, answer_document = await settler.pay(id)

            assert status == 202
            assert "no price" in answer_document["proposal"]["why"]

    async def test_that_is_attached_to_a_swap_counts_as_one_that_is_paid(
        self, world: World
    ) -> None:
        await world.settle(a_deposit(5, kind="native_received", sequence_number=None))
        [row] = await world.rows("SELECT id FROM account WHERE kind = 'suspense' AND balance <> 0")
        async with serving(world, above=0) as settler:
            order = {"base_units": str(REQUESTED), "swap_id": "0" * 32}
            assert (await settler.ask("ann", f"/claimable/{row.id}/attach", **order))[0] == 202

    async def test_that_is_no_order_is_refused_at_once(self, world: World) -> None:
        async with serving(world, above=0) as settler:
            assert (await settler.pay(10**9))[0] == 409
            assert (await settler.ask("ann", "/claimable/7/pay"))[0] == 400


class TestACap:
    async def set(
        self, settler: Settler, units: int, *, seconds: int = 86_400, token: str | None = None
    ) -> int:
        body = {"network": SOURCE, "token": token, "units": str(units), "seconds": seconds}
        return (await settler.ask("ann", "/caps", **body))[0]

    async def test_is_made_and_lowered_by_one_operator_and_raised_by_two(
        self, world: World
    ) -> None:
        async with serving(world, above=100) as settler:
            assert await self.set(settler, 5000) == 200
            assert await self.set(settler, 1000) == 200
            assert await self.set(settler, 1001) == 202
            assert await self.set(settler, 1000, seconds=86_399) == 202
            assert await self.set(settler, 90) == 200
            assert await self.set(settler, 100) == 200  # raised, but not above the amount
            assert await self.set(settler, 101) == 202

    @pytest.mark.parametrize(("token", "units"), [(None, 10**12), ("ETH", 10**24)])
    async def test_of_real_amounts_is_lowered_by_one_operator(
        self, world: World, token: str | None, units: int
    ) -> None:
        async with serving(world, above=10**10) as settler:
            assert await self.set(settler, units, token=token) == 200

            assert await self.set(settler, units // 1000, token=token) == 200
            assert await self.set(settler, 0, token=token) == 200
            assert await self.set(settler, units, token=token) == 202

    @pytest.mark.parametrize(("token", "dollar"), [(None, 10**6), ("ETH", 10**18)])
    async def test_of_a_short_span_is_measured_by_its_outflow_per_day(
        self, world: World, token: str | None, dollar: int
    ) -> None:
        async with serving(world, above=10_000 * 10**6) as settler:
            assert await self.set(settler, 1_000_000 * dollar, token=token) == 200

            assert await self.set(settler, 9_000 * dollar, seconds=1, token=token) == 202
            assert await self.set(settler, 100 * dollar, token=token) == 200
            assert await self.set(settler, 400 * dollar, seconds=3600, token=token) == 200
            assert await self.set(settler, 417 * dollar, seconds=3600, token=token) == 202

    async def test_is_raised_when_another_operator_approves(self, world: World) -> None:
        async with serving(world, above=100) as settler:
            assert await self.set(settler, 50) == 200
            body = {"network": SOURCE, "units": "5000", "seconds": 3600}
            _, answer_document = await settler.ask("ann", "/caps", **body)

            status, shown = await settler.approve(answer_document)

            assert (status, [cap["units"] for cap in shown["caps"]]) == (200, ["5000"])
            assert shown["caps"][0]["by"] == "ann, approved by ben"
            assert await settler.commits_with("outflow_cap")
            assert await settler.commits_with("operator_proposal")

    async def test_that_another_operator_lowers_meanwhile_is_not_raised(self, world: World) -> None:
        caps, word = PostgresCaps(world.engine, networks=[SOURCE]), {"by": "x", "reason": "y"}
        of = CapName(SOURCE)
        assert await caps.set_cap(of, limit=CapLimit(10, DAY), may_raise=False, set_at=None, **word)

        assert not await caps.set_cap(
            of, limit=CapLimit(11, DAY), may_raise=False, set_at=None, **word
        )
        assert not await caps.set_cap(
            of, limit=CapLimit(10, DAY / 2), may_raise=False, set_at=None, **word
        )
        assert await caps.set_cap(of, limit=CapLimit(9, DAY), may_raise=False, set_at=None, **word)
        assert [cap.units for cap in await caps.list_caps()] == [9]

    async def test_that_changes_after_the_order_is_neither_raised_nor_lifted(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)  # with inventory
        raised = {"network": SOURCE, "units": "5000", "seconds": 3600}
        async with serving(world, above=0) as settler:
            assert (await settler.ask("ann", "/caps/lift", network=SOURCE))[0] == 409  # none
            assert await self.set(settler, 50) == 200
            _, raising = await settler.ask("ann", "/caps", **raised)
            _, lifting = await settler.ask("ann", "/caps/lift", network=SOURCE)
            shown = raising["proposal"]["order"]["present"]
            assert (shown["units"], shown["seconds"]) == ("50", 86_400)
            assert shown == lifting["proposal"]["order"]["present"]
            assert await self.set(settler, 10) == 200  # another operator lowers it

            for proposed in (raising, lifting):
                status, refused = await settler.approve(proposed)
                assert (status, "order it again" in refused["error"]) == (409, True)

            caps = await PostgresCaps(world.engine, networks=[SOURCE]).list_caps()
            assert [cap.units for cap in caps] == [10]
            _, lifting = await settler.ask("ann", "/caps/lift", network=SOURCE)
            assert (await settler.approve(lifting))[0] == 200

    async def test_is_lifted_by_two_where_the_treasury_holds_more(self, world: World) -> None:
        await world.confirmed_swaps(1)  # with inventory
        async with serving(world, above=0) as settler:
            assert await self.set(settler, 0) == 200
            assert (await settler.ask("ann", "/caps/lift", network=SOURCE))[0] == 202
        async with serving(world, above=10**30) as settler:
            assert (await settler.ask("ann", "/caps/lift", network=SOURCE))[0] == 200


class TestABlockedAddress:
    @pytest.mark.parametrize("network", [None, SOURCE])
    async def test_is_blocked_by_one_operator_and_unblocked_by_two(
        self, world: World, network: str | None
    ) -> None:
        await world.confirmed_swaps(1)  # with inventory
        order = {"addresses": [OWNER], "network": network}
        async with serving(world, above=0) as settler:
            assert (await settler.ask("ann", "/blocked", **order))[0] == 200

            status, answer_document = await settler.ask("ann", "/blocked/lift", **order)
            assert status == 202
            blocked = PostgresBlocked(world.engine)
            assert [one["address"] for one in await blocked.list_blocked(limit=9)] == [OWNER]

            assert (await settler.approve(answer_document))[0] == 200
            assert await blocked.list_blocked(limit=9) == []

    async def test_is_lifted_by_one_operator_below_the_amount(self, world: World) -> None:
        await world.confirmed_swaps(1)
        async with serving(world, above=10**30) as settler:
            await settler.ask("ann", "/blocked", addresses=[OWNER])

            assert (await settler.ask("ann", "/blocked/lift", addresses=[OWNER]))[0] == 200


class TestAStop:
    @pytest.mark.parametrize("network", [None, SOURCE])
    async def test_is_set_by_one_operator_and_lifted_by_two(
        self, world: World, network: str | None
    ) -> None:
        await world.confirmed_swaps(1)
        async with serving(world, above=0) as settler:
            assert (await settler.ask("ann", "/payouts/stop", network=network))[0] == 200
            assert await settler.commits_with("payout_stop")

            status, answer_document = await settler.ask("ann", "/payouts/go", network=network)
            assert status == 202
            stops = PostgresStops(world.engine)
            assert [stop.network for stop in await stops.list_stops()] == [network or EVERYWHERE]

            assert (await settler.approve(answer_document))[0] == 200
            assert await stops.list_stops() == []
            assert await settler.commits_with("payout_stop")

    async def test_of_an_empty_treasury_is_lifted_by_one(self, world: World) -> None:
        async with world.engine.begin() as connection:
            await connection.execute("UPDATE inventory SET held_base_units = 0")
        async with serving(world, above=0, prices=FixedPrices({})) as settler:
            await settler.ask("ann", "/payouts/stop")

            assert (await settler.ask("ann", "/payouts/go"))[0] == 200

    async def test_that_is_not_on_is_not_lifted_by_an_approval(self, world: World) -> None:
        await world.confirmed_swaps(1)
        async with serving(world, above=0) as settler:
            await settler.ask("ann", "/payouts/stop")
            answer_document = [(await settler.ask("ann", "/payouts/go"))[1] for _ in range(2)]
            assert (await settler.approve(answer_document[0]))[0] == 200

            assert (await settler.approve(answer_document[1]))[0] == 409


class TestAHalt:
    RESUME = f"/signers/{SOURCE}/resume"

    async def test_is_lifted_by_two_while_it_is_the_one_that_was_ordered(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        async with serving(world, above=0) as settler:
            assert (await settler.ask("ann", self.RESUME))[0] == 409  # none is halted
            await world.store.halt("a payment made by hand")
            status, answer_document = await settler.ask("ann", self.RESUME)
            assert status == 202
            assert "made by hand" in answer_document["proposal"]["order"]["halts"][world.signer]

            assert (await settler.approve(answer_document))[0] == 200

    async def test_of_another_cause_is_not_lifted_by_an_older_proposal(self, world: World) -> None:
        await world.confirmed_swaps(1)
        signers = PostgresSigners(world.engine)
        async with serving(world, above=0) as settler:
            await world.store.halt("a payment made by hand")
            _, first = await settler.ask("ann", self.RESUME)
            _, second = await settler.ask("ann", self.RESUME)
            assert (await settler.approve(first))[0] == 200
            await world.store.halt("a payment made by hand")  # again
            status, refused = await settler.approve(second)
            assert (status, refused["error"][:17]) == (409, "the halts changed")

            _, third = await settler.ask("ann", self.RESUME)
            await world.store.halt("a final payment is gone")
            assert (await settler.approve(third))[0] == 409

            [signer] = [s for s in await signers.list_signers() if s.address == world.signer]
            assert signer.halted is not None
