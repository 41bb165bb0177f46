"""Blocked recipients: the two sources of blocks, and the outcome for the money."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.routing import Route

from services.settler.tests.admin_port import as_operator
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, PAYOUT, REQUESTED, World, a_recipient
from swap_chains.errors import ChainUnavailable
from swap_runtime.errors import RequestRefused
from swap_runtime.screening import (
    BlockList,
    FreshList,
    Party,
    Screening,
    Screenings,
    ScreeningService,
    Verdict,
)
from swap_runtime.settings import ScreeningSettings
from swap_settler.operator.http.blocked import BlockedAdmin
from swap_settler.operator.store.blocked import PostgresBlocked
from swap_settler.operator.usecases.manage_blocked_addresses import (
    BlockOrder,
    ManageBlockedAddresses,
)

pytestmark = pytest.mark.connected
BLOCKED_RECIPIENT, OTHER_RECIPIENT = a_recipient(1), a_recipient(2)


def keeping(world: World) -> ManageBlockedAddresses:
    return ManageBlockedAddresses(PostgresBlocked(world.engine), catalogue=world.catalogue)


def order(*addresses: str, network: str | None = None) -> BlockOrder:
    return BlockOrder(addresses, network, "ann", "a court says so")


class Service:
    """A screening service with configured answers."""

    def __init__(self) -> None:
        self.blocked: set[tuple[str, str]] = set()
        self.screened: list[Mapping[str, str]] = []
        self.status = 200
        self.forgets = False
        self.has_request, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def answer(self, request: web.Request) -> web.Response:
        addresses: list[dict[str, str]] = (await request.json())["addresses"]
        self.screened += addresses
        self.has_request.set()
        await self.may_answer.wait()
        if self.status != 200:
            return web.Response(status=self.status)
        results: list[dict[str, Any]] = [
            {**one, "blocked": (one["network"], one["address"]) in self.blocked}
            for one in addresses
        ]
        return web.json_response({"results": [] if self.forgets else results})

    @asynccontextmanager
    async def open(self, **settings: Any) -> AsyncIterator[ScreeningService]:
        app = web.Application()
        app.add_routes([web.post("/screen", self.answer)])
        async with TestServer(app) as server, aiohttp.ClientSession() as session:
            url = str(server.make_url("/screen"))
            yield ScreeningService(ScreeningSettings(url=url, **settings), session)


@asynccontextmanager
async def a_list(world: World) -> AsyncIterator[Screening]:
    await keeping(world).block(order(BLOCKED_RECIPIENT, network=DESTINATION))
    yield FreshList(BlockList(world.engine))


@asynccontextmanager
async def a_service(_: World) -> AsyncIterator[Screening]:
    service = Service()
    service.blocked.add((DESTINATION, BLOCKED_RECIPIENT.lower()))
    async with service.open() as screening:
        yield screening


@pytest.mark.parametrize("kind", [a_list, a_service])
class TestEveryScreening:
    async def test_distinguishes_blocked_addresses_from_others(
        self, world: World, kind: Any
    ) -> None:
        async with kind(world) as screening:
            results = await screening.screen(
                {Party(DESTINATION, BLOCKED_RECIPIENT), Party(DESTINATION, OTHER_RECIPIENT)}
            )
        assert results == {
            Party(DESTINATION, BLOCKED_RECIPIENT): Verdict.BLOCKED,
            Party(DESTINATION, OTHER_RECIPIENT): Verdict.CLEAR,
        }

    async def test_matches_an_address_in_any_case(self, world: World, kind: Any) -> None:
        async with kind(world) as screening:
            party = Party(DESTINATION, BLOCKED_RECIPIENT.lower())
            assert await screening.screen({party}) == {party: Verdict.BLOCKED}

    async def test_clears_a_party_of_another_network(self, world: World, kind: Any) -> None:
        async with kind(world) as screening:
            party = Party("ETHEREUM_DEVNET", BLOCKED_RECIPIENT)
            assert await screening.screen({party}) == {party: Verdict.CLEAR}

    async def test_answers_a_request_for_no_rows(self, world: World, kind: Any) -> None:
        async with kind(world) as screening:
            assert await screening.screen(()) == {}

    async def test_lets_no_blocked_address_be_paid(self, world: World, kind: Any) -> None:
        async with kind(world) as screening:
            world.screens = screening
            await world.confirmed_swaps(2)
            await world.send_everything()
            world.chain.mine()
        assert [world.paid_amount(n) for n in (1, 2)] == [0, PAYOUT]


class TestTheService:
    async def test_answers_about_an_address_are_cached(self) -> None:
        service, party = Service(), Party(DESTINATION, OTHER_RECIPIENT)
        async with service.open() as screening:
            await screening.screen({party})
            await screening.screen({party, Party(DESTINATION, OTHER_RECIPIENT.lower())})
        assert len(service.screened) == 1

        async with service.open(remembered_for=timedelta(0)) as screening:
            await screening.screen({party})
            await screening.screen({party})
        assert len(service.screened) == 3

    @pytest.mark.parametrize("fault", [{"status": 500}, {"status": 302}, {"forgets": True}])
    @pytest.mark.parametrize("is_open", [True, False])
    async def test_that_gives_no_answer_closes_or_opens_as_is_set(
        self, fault: dict[str, Any], is_open: bool
    ) -> None:
        service, party = Service(), Party(DESTINATION, BLOCKED_RECIPIENT)
        for name, value in fault.items():
            setattr(service, name, value)
        async with service.open(is_open_when_away=is_open) as screening:
            results = await screening.screen({party})
        assert results[party] is (Verdict.CLEAR if is_open else Verdict.UNKNOWN)

    async def test_that_is_unavailable_keeps_blocked_addresses_blocked(self) -> None:
        service, party = Service(), Party(DESTINATION, BLOCKED_RECIPIENT)
        service.blocked.add((DESTINATION, BLOCKED_RECIPIENT.lower()))
        settings: dict[str, Any] = {"remembered_for": timedelta(0), "is_open_when_away": True}
        async with service.open(**settings) as screening:
            assert await screening.screen({party}) == {party: Verdict.BLOCKED}
            service.status = 503
            assert await screening.screen({party}) == {party: Verdict.BLOCKED}
            service.status = 200
            service.blocked.clear()
            assert await screening.screen({party}) == {party: Verdict.CLEAR}

    async def test_keeps_an_entry_while_others_are_requested(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("swap_runtime.screening.CACHED_MAX", 2)
        service, bad = Service(), Party(DESTINATION, BLOCKED_RECIPIENT)
        service.blocked.add((DESTINATION, BLOCKED_RECIPIENT.lower()))
        async with service.open(is_open_when_away=True) as screening:
            await screening.screen({bad})
            service.may_answer.clear()
            question = asyncio.create_task(
                screening.screen({bad, Party(DESTINATION, OTHER_RECIPIENT)})
            )
            others = {Party(DESTINATION, a_recipient(n)) for n in range(3, 9)}
            answers = asyncio.create_task(screening.screen(others))
            async with asyncio.timeout(5):
                while len(service.screened) < 1 + 1 + len(others):
                    await service.has_request.wait()
                    service.has_request.clear()
            service.may_answer.set()
            await answers
            assert (await question)[bad] is Verdict.BLOCKED

    async def test_that_is_away_lets_payments_wait_until_it_is_back(self, world: World) -> None:
        service = Service()
        service.status = 503
        await world.confirmed_swaps(1)
        async with service.open() as screening:
            world.screens = Screenings(FreshList(BlockList(world.engine)), screening)
            await world.send_everything()
            assert await world.intent_states() == ["reserved"]
            service.status = 200
            await world.rows("UPDATE intent SET due_at = now()")
            await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT


class TestWhoIsBlocked:
    @pytest.mark.fault("A10")
    async def test_a10_after_creation_is_not_paid_and_the_swap_has_the_reason(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(2)
        await keeping(world).block(order(BLOCKED_RECIPIENT))

        await world.send_everything()
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2)] == [0, PAYOUT]
        failed = await world.rows("SELECT status, fail_reason FROM swap WHERE sequence_number = 1")
        assert failed == [("failed", "rejected_by_policy")]
        claimable = "SELECT balance FROM account WHERE kind = 'claimable'"
        assert await world.rows(claimable) == [(-REQUESTED,)]

    async def test_gets_an_error_while_no_node_answers(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await keeping(world).block(order(BLOCKED_RECIPIENT))
        world.chain.make_unavailable()

        with pytest.raises(ChainUnavailable):
            await world.send_everything()

        failed = await world.rows("SELECT status, fail_reason FROM swap")
        assert failed == [("failed", "rejected_by_policy")]

    async def test_is_not_refunded_to_a_later_address(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await keeping(world).block(order(BLOCKED_RECIPIENT))
        await world.send_everything()

        await world.refund_address(1, OTHER_RECIPIENT)

        assert await world.rows("SELECT status FROM swap") == [("failed",)]
        assert await world.rows("SELECT 1 FROM refund_due") == []

    async def test_is_paid_again_when_an_operator_lifts_it(self, world: World) -> None:
        await keeping(world).block(order(BLOCKED_RECIPIENT))
        assert await keeping(world).lift(order(BLOCKED_RECIPIENT)) == 1
        assert await keeping(world).lift(order(BLOCKED_RECIPIENT)) == 0
        await world.confirmed_swaps(1)

        await world.send_everything()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT


async def test_a_refund_to_a_blocked_address_is_claimable(
    migrate_schema: Callable[[str], str],
) -> None:
    async with opened_world(migrate_schema("settler"), "ETHEREUM_DEVNET") as world:
        await world.due_refunds(1)
        await world.starting_refunds()()
        await keeping(world).block(order(BLOCKED_RECIPIENT))

        await world.send_everything()

        failed = await world.rows("SELECT status, fail_reason FROM swap")
        assert failed == [("failed", "rejected_by_policy")]
        claimable = "SELECT balance FROM account WHERE kind = 'claimable'"
        assert await world.rows(claimable) == [(-REQUESTED,)]


class TestTheList:
    async def test_is_changed_by_operators(self, world: World) -> None:
        admin = BlockedAdmin(keeping(world))
        app = Starlette(
            routes=[
                Route("/admin/blocked", admin.list_all, methods=["GET"]),
                Route("/admin/blocked", as_operator(admin.block), methods=["POST"]),
                Route("/admin/blocked/lift", as_operator(admin.lift), methods=["POST"]),
            ]
        )
        order = {
            "addresses": [BLOCKED_RECIPIENT, OTHER_RECIPIENT, BLOCKED_RECIPIENT],
            "by": "ann",
            "reason": "a court says so",
        }
        async with AsyncClient(transport=ASGITransport(app), base_url="http://settler") as http:
            assert (await http.post("/admin/blocked", json=order)).json() == {"blocked": 2}
            assert (await http.post("/admin/blocked", json={})).status_code == 400
            listed = (await http.get("/admin/blocked")).json()["blocked"]
            assert (await http.get("/admin/blocked?after_network=A")).status_code == 400
            lifted = (await http.post("/admin/blocked/lift", json=order)).json()
        assert [one["address"] for one in listed] == sorted(
            [BLOCKED_RECIPIENT.lower(), OTHER_RECIPIENT.lower()]
        )
        assert listed[0]["reason"] == "a court says so"
        assert lifted == {"lifted": 2}

    @pytest.mark.parametrize("address", ["nobody", "0x" + "aB" * 20])
    async def test_takes_only_addresses(self, world: World, address: str) -> None:
        with pytest.raises(RequestRefused):
            await keeping(world).block(order(address))
        with pytest.raises(RequestRefused):
            await keeping(world).block(order(BLOCKED_RECIPIENT, network="NOWHERE"))
