"""How signers are shown to operators, and how a halted one is resumed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from services.settler.tests.lane_harness import (
    DEPOSITORY,
    DESTINATION,
    PAYOUT,
    SIGNER,
    TREASURY,
    World,
    a_recipient,
)
from swap_chains.fake import FakeChain
from swap_domain.catalogue import NATIVE
from swap_runtime.operators.admin_routes import AdminRoute, OrderRoute
from swap_runtime.operators.identities import Operator, Role
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.leases import Lease
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.operator.http.signers import SignerAdmin
from swap_settler.operator.store.signers import PostgresSigners
from swap_settler.operator.usecases.list_signers import ListSigners
from swap_settler.paying.store.lane_store import LaneName
from swap_settler.paying.usecases.close_slots import ROUNDS_UNEXPLAINED_MAX
from tests.plugins.internal_port import internal_port

pytestmark = pytest.mark.connected
TOKEN = "operator"
RESUME = f"/admin/signers/{DESTINATION}/resume"
OPERATOR_ORDER = {"by": "ann", "reason": "a payment made by hand"}
OTHER = a_recipient(99)
# Nonces that pay nothing, as those that an external transaction used.
UNPAID = """
INSERT INTO nonce_slot (network, signer, nonce, assigned_at)
VALUES (:network, :signer, 2, now()), (:network, :signer, 3, now())
"""

Answer = tuple[int, Any]


class Port:
    """The endpoints about signers of the settler's internal port."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self._url = url
        self._http = http

    async def get(self, path: str) -> Answer:
        async with self._http.get(f"{self._url}{path}") as answer:
            return answer.status, await answer.json()

    async def post(self, path: str, body: dict[str, str]) -> Answer:
        async with self._http.post(f"{self._url}{path}", json=body) as answer:
            return answer.status, await answer.json()

    async def signers(self) -> list[dict[str, Any]]:
        status, answer_document = await self.get("/admin/signers")
        assert status == 200
        signers: list[dict[str, Any]] = answer_document["signers"]
        return signers


@pytest.fixture
async def world(engine: Engine) -> World:
    async with engine.begin() as connection:
        await connection.execute(sql("TRUNCATE deposit, lease CASCADE"))
    chain = FakeChain(DESTINATION, depository=DEPOSITORY, treasury=TREASURY, decimals={NATIVE: 18})
    chain.give(TREASURY, NATIVE, 10**22)
    chain.authorize(SIGNER)
    lease = Lease(engine, LaneName(DESTINATION, SIGNER).lease, holder="this")
    assert await lease.acquire()
    assert lease.epoch is not None
    world = World(engine, chain, lease.epoch)
    await world.store.open_signer(0)
    return world


@pytest.fixture
async def port(world: World) -> AsyncIterator[Port]:
    signers = PostgresSigners(world.engine)
    admin = SignerAdmin(
        list_signers=ListSigners(signers),
        resume_signers=world.resuming(),
        clock=lambda: datetime.now(UTC),
    )

    internal = internal_port(
        world.engine,
        {TOKEN: Operator("ann", Role.OPERATOR)},
        reads=[
            AdminRoute("GET", "/signers", admin.list_all),
            AdminRoute("GET", "/signers/{network}/{address}/nonces", admin.open_nonces),
        ],
        orders=[OrderRoute("/signers/{network}/resume", admin.resume)],
    )
    number = await internal.start("127.0.0.1", 0)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as http:
        yield Port(f"http://127.0.0.1:{number}", http)
    await internal.stop()


def halted_gauge() -> float | None:
    return REGISTRY.get_sample_value("swap_settler_signer_halted", {"network": DESTINATION})


class TestListing:
    async def test_shows_what_a_signer_has_out(self, world: World, port: Port) -> None:
        await world.confirmed_swaps(2)
        await world.send_everything()

        (signer,) = await port.signers()

        assert (signer["network"], signer["address"]) == (DESTINATION, SIGNER)
        assert (signer["next_nonce"], signer["open_slots"]) == (1, 1)
        assert 0 <= signer["oldest_slot_seconds"] < 60
        assert (signer["halted"], signer["resumed"]) == (None, None)
        assert signer["act"] == "no action is required"
        assert halted_gauge() == 0

    async def test_open_nonces_have_their_transactions_and_payments(
        self, world: World, port: Port
    ) -> None:
        await world.confirmed_swaps(3)
        await world.send_everything()
        path, query = f"/admin/signers/{DESTINATION}/{SIGNER}/nonces", {"limit": "2"}

        _, first = await port.get(f"{path}?{urlencode(query)}")
        _, last = await port.get(f"{path}?{urlencode({**query, **first['next']})}")

        rows = first["nonces"] + last["nonces"]
        assert (len(first["nonces"]), len(last["nonces"]), last["next"]) == (2, 1, None)
        assert len({row["swap_id"] for row in rows}) == 3  # one transaction pays all
        assert {row["nonce"] for row in rows} == {0}
        [sent] = await world.rows("SELECT transaction_hash FROM attempt")
        assert {row["transaction_hash"] for row in rows} == {sent.transaction_hash}
        halves = [{name: value} for name, value in first["next"].items()]
        for wrong in ({"after": "x"}, *halves):
            assert (await port.get(f"{path}?{urlencode(wrong)}"))[0] == 400
        assert (await port.get(path.replace(SIGNER, OTHER)))[1]["nonces"] == []

    async def test_each_open_nonce_is_on_one_page_with_or_without_a_payment(
        self, world: World, port: Port
    ) -> None:
        for first in (1, 3):
            await world.confirmed_swaps(2, first=first)
            await world.send_everything()
        async with world.engine.begin() as connection:
            values = {"network": DESTINATION, "signer": SIGNER}
            await connection.execute(sql(UNPAID), values)
        path, query = f"/admin/signers/{DESTINATION}/{SIGNER}/nonces", {"limit": "2"}

        _, page = await port.get(f"{path}?{urlencode(query)}")
        rows = page["nonces"]
        while page["next"]:
            _, page = await port.get(f"{path}?{urlencode({**query, **page['next']})}")
            rows += page["nonces"]

        assert [row["nonce"] for row in rows] == [0, 0, 1, 1, 2, 3]
        assert len({row["swap_id"] for row in rows[:4]}) == 4
        names = ("transaction_hash", "intent_id", "kind", "swap_id")
        assert {row[name] for row in rows[4:] for name in names} == {None}

    async def test_shows_the_reason_time_and_action_of_a_halt(
        self, world: World, port: Port
    ) -> None:
        await world.store.halt("a person must look")
        await world.store.halt("something later")

        (signer,) = await port.signers()

        assert signer["halted"]["reason"] == "a person must look; something later"
        since = datetime.fromisoformat(signer["halted"]["at"])
        assert abs((datetime.now(UTC) - since).total_seconds()) < 60
        assert signer["means"].startswith("it signs nothing new")
        assert signer["act"].startswith("an operator")
        assert (signer["open_slots"], signer["oldest_slot_seconds"]) == (0, None)
        assert halted_gauge() == 1


class TestResuming:
    async def test_lets_it_pay_again_and_keeps_who_did_it_and_why(
        self, world: World, port: Port
    ) -> None:
        await world.confirmed_swaps(1)
        await world.store.halt("a person must look")
        await world.send_everything()
        assert await world.intent_states() == ["reserved"]

        answer_document = await port.post(RESUME, OPERATOR_ORDER)

        assert answer_document == (
            200,
            {"network": DESTINATION, "resumed": [SIGNER], "paid_elsewhere": []},
        )
        (signer,) = await port.signers()
        assert signer["halted"] is None
        assert {name: signer["resumed"][name] for name in OPERATOR_ORDER} == OPERATOR_ORDER
        await world.finish_recovery()
        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT

    async def test_is_refused_where_no_signer_is_halted(self, port: Port) -> None:
        assert await port.post(RESUME, OPERATOR_ORDER) == (
            409,
            {"error": f"no halted signer of {DESTINATION}"},
        )

    async def test_requires_a_reason(self, world: World, port: Port) -> None:
        await world.store.halt("a person must look")

        status, answer_document = await port.post(RESUME, {**OPERATOR_ORDER, "reason": " "})

        assert status == 400
        assert answer_document["error"].startswith("reason")
        assert (await port.signers())[0]["halted"] is not None

    async def test_is_refused_while_the_chain_is_ahead_of_the_ledger(
        self, world: World, port: Port
    ) -> None:
        world.chain.world.nonces[SIGNER] = 3
        await world.store.halt("the chain is at nonce 3, the ledger at 0")

        status, answer_document = await port.post(RESUME, OPERATOR_ORDER)

        assert status == 409
        assert "nonce 3" in answer_document["error"]
        assert (await port.signers())[0]["halted"] is not None

    async def test_is_refused_while_no_node_reports_the_head(
        self, world: World, port: Port
    ) -> None:
        await world.store.halt("a person must look")
        world.chain.make_unavailable()

        assert (await port.post(RESUME, OPERATOR_ORDER))[0] == 409
        assert (await port.signers())[0]["halted"] is not None

    async def test_may_be_of_one_signer_of_the_network(self, world: World, port: Port) -> None:
        await world.store.halt("a person must look")
        async with world.engine.begin() as connection:
            await connection.execute(
                sql(
                    "INSERT INTO signer (network, address, next_nonce, halted_reason)"
                    " VALUES (:network, :address, 0, 'halted by the release before')"
                ),
                {"network": DESTINATION, "address": OTHER},
            )

        answer_document = await port.post(RESUME, {**OPERATOR_ORDER, "address": SIGNER})

        assert answer_document == (
            200,
            {"network": DESTINATION, "resumed": [SIGNER], "paid_elsewhere": []},
        )
        halts = {signer["address"]: signer["halted"] for signer in await port.signers()}
        assert halts == {
            SIGNER: None,
            OTHER: {"reason": "halted by the release before", "at": None},
        }

    async def test_does_not_lift_a_halt_later_than_its_list(self, world: World) -> None:
        signers = PostgresSigners(world.engine)
        await world.store.halt("the first")
        looked = await signers.list_signers()
        await signers.resume(looked, by="ben", reason="the same")
        await world.store.halt("the second")

        assert await signers.resume(looked, by="ann", reason="the first was understood") == set()
        (signer,) = await signers.list_signers()
        assert signer.halted is not None
        assert signer.halted.reason == "the second"

    @pytest.mark.fault("S11")
    async def test_s11_does_not_last_while_a_nonce_stays_unexplained(
        self, world: World, port: Port
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        world.chain.world.nonces[SIGNER] = 1
        close_slots = world.closing()
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 2):
            world.chain.mine()
            await close_slots(epoch=world.epoch)
        assert (await port.signers())[0]["halted"] is not None

        assert (await port.post(RESUME, OPERATOR_ORDER))[0] == 200
        world.chain.mine()
        await close_slots(epoch=world.epoch)

        assert (await port.signers())[0]["halted"] is not None
