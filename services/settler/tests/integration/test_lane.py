"""The sender lane on a real Postgres and a chain in memory: one payment each, whatever dies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest
import yaml
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from swap_chains.errors import ChainUnavailable
from swap_chains.evm.codec import checksum_address, depository_id
from swap_chains.fake import FakeChain, FakeReader, FakeSender
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.quoting import AssetRef, PathStep, Quote
from swap_contracts.swaps import SwapRequested
from swap_contracts.topics import DEPOSIT_CHANGED, SWAP_REQUESTS
from swap_domain.catalogue import NATIVE, Catalogue
from swap_domain.catalogue_document import catalogue_from
from swap_runtime.leases import Lease, LeaseLost
from swap_settler.adapters.lane_store import LaneName, PostgresLaneStore
from swap_settler.adapters.lane_unit_of_work import PostgresLaneUnitOfWork
from swap_settler.adapters.unit_of_work import PostgresUnitOfWork
from swap_settler.domain.lane import GasUnits, Retries
from swap_settler.usecases import send_payouts
from swap_settler.usecases.announcing import Announcer
from swap_settler.usecases.close_slots import CloseSlots
from swap_settler.usecases.facts import Facts
from swap_settler.usecases.give_up_payouts import GiveUpPayouts
from swap_settler.usecases.mark_sent import MarkSent
from swap_settler.usecases.rebroadcast import Rebroadcast
from swap_settler.usecases.request_swaps import RequestSwaps
from swap_settler.usecases.send_payouts import SendPayouts
from swap_settler.usecases.settle_deposits import SettleDeposits

pytestmark = pytest.mark.connected

SOURCE, DESTINATION = "ETHEREUM_DEVNET", "BASE_DEVNET"
EXAMPLE = Path(__file__).parents[4] / "docs/catalogue.example.yaml"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
IDS = UUID("00000000-0000-4000-8000-000000000000")
TREASURY = "0x0000000000000000000000000000000000000001"
SIGNER = "0x0000000000000000000000000000000000000003"
FUNDER = "0x0000000000000000000000000000000000000004"
DEPOSITORY = "0x0000000000000000000000000000000000000002"
REQUESTED, PAYOUT = 10**18, 9 * 10**17
USD = str(3000 * 10**18)
ETHER = AssetRef(network=SOURCE, token=NATIVE, decimals=18)
ETHER_THERE = AssetRef(network=DESTINATION, token=NATIVE, decimals=18)
QUOTE = Quote(
    source=ETHER,
    destination=ETHER_THERE,
    requested_base_units=str(REQUESTED),
    receive_base_units=str(PAYOUT),
    min_receive_base_units=str(PAYOUT),
    blockchain_fee_base_units="0",
    service_fee_base_units=str(REQUESTED - PAYOUT),
    total_fee_base_units=str(REQUESTED - PAYOUT),
    fee_discount_base_units="0",
    refuel_in_source_base_units=None,
    refuel_base_units=None,
    slippage_ppm=0,
    source_usd_e18=USD,
    destination_usd_e18=USD,
    source_native_usd_e18=USD,
    destination_native_usd_e18=USD,
    completion_milliseconds=1000,
    path=(PathStep(provider="SOLVER", order=1),),
)


class Killed(BaseException):
    """Stands for the end of the process."""


def a_catalogue() -> Catalogue:
    document = yaml.safe_load(EXAMPLE.read_text())
    there = {**document["networks"][0], "name": DESTINATION, "chain_id": 31338}
    networks = [document["networks"][0], there]
    return catalogue_from({**document, "networks": networks}, to_address=str)


def a_recipient(number: int) -> str:
    return checksum_address(f"0x{0xA0000000 + number:040x}")


@dataclass
class World:
    """One lane with its chain and its database."""

    engine: AsyncEngine
    chain: FakeChain
    epoch: int
    statements: list[str] = field(default_factory=list)
    clock: Callable[[], datetime] = lambda: NOW

    def __post_init__(self) -> None:
        self.catalogue = a_catalogue()
        self.announcer = Announcer(self.catalogue)
        self.lane = LaneName(DESTINATION, SIGNER)
        self.work = PostgresLaneUnitOfWork(self.engine, consumer="settler", lane=self.lane)
        self.store = PostgresLaneStore(self.engine, self.lane)
        self.reader = FakeReader(self.chain)
        self.sender = FakeSender(self.chain, SIGNER)
        self.mark_sent = MarkSent(self.work, clock=self.clock, announcer=self.announcer)
        self.give_up = GiveUpPayouts(
            self.work,
            clock=self.clock,
            announcer=self.announcer,
            retries=Retries(attempts_max=2, pause=timedelta(0)),
        )

    def new_process(self) -> SendPayouts:
        """Return a lane that remembers nothing."""
        return SendPayouts(
            chain=self.reader,
            sender=self.sender,
            store=self.store,
            mark_sent=self.mark_sent,
            give_up=self.give_up,
            treasury=TREASURY,
            native=NATIVE,
            gas=GasUnits(75_000, 95_000),
            fee_cap=10**12,
        )

    async def send_everything(self) -> None:
        send = self.new_process()
        while await send(epoch=self.epoch):
            pass

    async def rebroadcast(self) -> int:
        return await Rebroadcast(
            sender=self.sender,
            store=self.store,
            mark_sent=self.mark_sent,
            older_than=timedelta(0),
        )()

    async def close_slots(self) -> None:
        await CloseSlots(
            chain=self.reader,
            signer=SIGNER,
            native=NATIVE,
            store=self.store,
            unit_of_work=self.work,
            give_up=self.give_up,
            clock=self.clock,
            announcer=self.announcer,
        )()

    async def confirmed_swaps(self, count: int, *, first: int = 1) -> None:
        """Bring swaps to where their payouts wait for the lane."""
        numbers = range(first, first + count)
        request = RequestSwaps(self._settling, clock=self.clock, announcer=self.announcer)
        await request([a_request(n) for n in numbers])
        settle = SettleDeposits(
            self._settling,
            clock=self.clock,
            facts=Facts(self.catalogue),
            announcer=self.announcer,
        )
        await settle([a_funding(10**24 + first), *(a_deposit(n) for n in numbers)])

    @property
    def _settling(self) -> PostgresUnitOfWork:
        return PostgresUnitOfWork(self.engine, consumer="settler")

    async def rows(self, query: str) -> Sequence[Any]:
        async with self.engine.connect() as connection:
            return (await connection.execute(text(query))).all()

    async def intent_states(self) -> list[str]:
        return [row.state for row in await self.rows("SELECT state FROM intent ORDER BY id")]

    def paid(self, number: int) -> int:
        return self.chain.world.balances.get((a_recipient(number), NATIVE), 0)


def a_request(number: int) -> Envelope[Any]:
    body = SwapRequested(
        swap_id=uuid5(IDS, f"swap/{number}"),
        app_id=IDS,
        sequence_number=number,
        reference_id=None,
        method="depository",
        source=ETHER,
        destination=ETHER_THERE,
        source_address=None,
        destination_address=a_recipient(number),
        refund_address=None,
        created_at=NOW,
        expires_at=NOW + timedelta(hours=6),
        quote=QUOTE,
        quote_expires_at=NOW + timedelta(minutes=5),
    )
    return SWAP_REQUESTS.seal(body, version="requested", occurred_at=NOW, trace_id="t")


def a_deposit(number: int, **changes: Any) -> Envelope[DepositChanged]:
    values: dict[str, Any] = {
        "deposit_id": uuid5(IDS, f"deposit/{number}"),
        "version": 2,
        "state": "confirmed",
        "kind": "deposited",
        "network": SOURCE,
        "transaction_hash": f"0x{number:064x}",
        "block_number": 5,
        "block_hash": depository_id(5),
        "block_time": NOW,
        "from_address": a_recipient(number),
        "to_address": TREASURY,
        "token": NATIVE,
        "base_units": str(REQUESTED),
        "confirmations_required": 1,
        "sequence_number": number,
    }
    body = DepositChanged(**{**values, **changes})
    return DEPOSIT_CHANGED.seal(body, version=body.version, occurred_at=NOW, trace_id="t")


def a_funding(number: int) -> Envelope[DepositChanged]:
    return a_deposit(
        number,
        deposit_id=uuid5(IDS, f"funding/{number}"),
        kind="native_received",
        network=DESTINATION,
        from_address=FUNDER,
        base_units=str(10**22),
        sequence_number=None,
    )


@pytest.fixture
async def world(migrated: Callable[[str], str]) -> AsyncIterator[World]:
    migrated("chain_watcher")
    engine = create_async_engine(migrated("settler"))
    async with engine.begin() as connection:
        await connection.execute(
            text(
                "TRUNCATE swap, deposit, account, ledger_transaction, inventory, intent, signer, "
                "nonce_slot, attempt, receipt, signer_transaction, inbox, lease CASCADE"
            )
        )
    chain = FakeChain(DESTINATION, depository=DEPOSITORY, treasury=TREASURY, decimals={NATIVE: 18})
    chain.give(TREASURY, NATIVE, 10**22)
    chain.authorize(SIGNER)
    lease = Lease(engine, LaneName(DESTINATION, SIGNER).lease, holder="this")
    epoch = await lease.acquire()
    assert epoch is not None
    world = World(engine, chain, epoch)
    await world.store.open_signer(0)
    event.listen(
        engine.sync_engine,
        "before_cursor_execute",
        lambda c, cursor, statement, *rest: world.statements.append(statement),
    )
    yield world
    await engine.dispose()


def killed_at(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    def crashpoint(name: str) -> None:
        if name == point:
            monkeypatch.undo()
            raise Killed(name)

    monkeypatch.setattr(send_payouts, "crashpoint", crashpoint)


class TestACrash:
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("settler.after_slot", id="S2"),
            pytest.param("settler.after_sign", id="S3"),
            pytest.param("settler.before_send", id="S4"),
            pytest.param("settler.after_send", id="S5"),
        ],
    )
    async def test_ends_in_one_payment_on_one_slot(
        self, world: World, monkeypatch: pytest.MonkeyPatch, point: str
    ) -> None:
        await world.confirmed_swaps(3)
        killed_at(monkeypatch, point)
        with pytest.raises(Killed):
            await world.send_everything()

        await world.send_everything()
        await world.rebroadcast()
        world.chain.mine()

        assert [world.paid(n) for n in (1, 2, 3)] == [PAYOUT] * 3
        assert [r.nonce for r in await world.rows("SELECT nonce FROM nonce_slot")] == [0]
        assert len(await world.rows("SELECT 1 FROM attempt")) == 1
        assert await world.intent_states() == ["broadcast"] * 3

    async def test_before_any_slot_leaves_the_intent_to_the_next_lane_s1(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)

        await world.send_everything()
        world.chain.mine()

        assert world.paid(1) == PAYOUT

    async def test_of_every_node_is_outlived_by_the_stored_bytes(self, world: World) -> None:
        await world.confirmed_swaps(1)
        send = world.new_process()

        original = world.sender.broadcast

        async def nobody(*_: object) -> Any:
            raise ChainUnavailable(DESTINATION)

        world.sender.broadcast = nobody  # type: ignore[method-assign]
        await send(epoch=world.epoch)
        world.sender.broadcast = original  # type: ignore[method-assign]
        assert await world.intent_states() == ["assigned"]

        await world.rebroadcast()
        world.chain.mine()

        assert world.paid(1) == PAYOUT
        assert await world.intent_states() == ["broadcast"]


class TestAnOldHolder:
    async def test_cannot_store_what_it_signed_s8(self, world: World) -> None:
        await world.confirmed_swaps(1)
        lane = LaneName(DESTINATION, SIGNER).lease
        async with world.engine.begin() as connection:
            await connection.execute(
                text("UPDATE lease SET expires_at = '-infinity' WHERE name = :n"), {"n": lane}
            )
        await Lease(world.engine, lane, holder="another").acquire()

        with pytest.raises(LeaseLost):
            await world.new_process()(epoch=world.epoch)

        assert await world.rows("SELECT 1 FROM attempt") == []


class TestABatch:
    async def test_of_two_hundred_payouts_is_a_few_transactions_and_statements(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(200)
        world.statements.clear()

        sent = await world.new_process()(epoch=world.epoch)
        statements = len(world.statements)
        world.chain.mine()

        assert sent == 4
        assert statements < 40
        assert sum(world.paid(n) for n in range(1, 201)) == 200 * PAYOUT

    async def test_leaves_out_native_money_for_a_contract_which_goes_alone(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(3)
        async with world.engine.begin() as connection:
            to_contract = "UPDATE intent SET to_address = :a WHERE to_address = :b"
            values = {"a": DEPOSITORY, "b": a_recipient(2)}
            await connection.execute(text(to_contract), values)

        await world.send_everything()

        slots = "SELECT count(*) FROM slot_intent GROUP BY nonce ORDER BY 1"
        assert await world.rows(slots) == [(1,), (2,)]

    async def test_never_has_more_in_flight_than_a_public_node_keeps(self, world: World) -> None:
        await world.confirmed_swaps(20)
        async with world.engine.begin() as connection:
            await connection.execute(text("UPDATE intent SET goes_alone = true"))

        await world.send_everything()
        assert len(world.chain.pool) == 16


class TestARecipientThatRefuses:
    async def test_holds_up_nobody_and_is_given_up_in_the_end(self, world: World) -> None:
        await world.confirmed_swaps(3)
        world.chain.refuse(a_recipient(2))

        for _ in range(3):
            await world.send_everything()
        world.chain.mine()

        assert [world.paid(n) for n in (1, 2, 3)] == [PAYOUT, 0, PAYOUT]
        failed = await world.rows("SELECT status, fail_reason FROM swap WHERE sequence_number = 2")
        assert failed == [("failed", "destination_unavailable")]
        claimable = "SELECT balance FROM account WHERE kind = 'claimable'"
        assert await world.rows(claimable) == [(-REQUESTED,)]
        owed = "SELECT sum(balance) FROM account WHERE kind IN ('swap_liability', 'in_flight')"
        assert await world.rows(owed) == [(-2 * PAYOUT,)]

    async def test_after_it_was_tried_is_tried_again_only_when_the_slot_is_dead(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.refuse(a_recipient(1))
        world.chain.mine()
        await world.close_slots()
        assert await world.intent_states() == ["broadcast"]

        world.chain.mine(2)
        await world.close_slots()
        assert await world.intent_states() == ["reserved"]

        world.chain.refuse(a_recipient(1), refuses=False)
        await world.send_everything()
        world.chain.mine()

        assert world.paid(1) == PAYOUT
        assert [r.nonce for r in await world.rows("SELECT nonce FROM nonce_slot ORDER BY 1")] == [
            0,
            1,
        ]


class TestAPaymentForADepositThatAReorgTook:
    async def test_is_not_tried_again(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        settle = SettleDeposits(
            PostgresUnitOfWork(world.engine, consumer="settler"),
            clock=world.clock,
            facts=Facts(world.catalogue),
            announcer=world.announcer,
        )
        await settle([a_deposit(1, version=3, state="reverted")])
        world.chain.refuse(a_recipient(1))
        world.chain.mine(3)

        await world.close_slots()

        assert await world.intent_states() == ["dead"]
        assert await world.rows("SELECT status FROM swap") == [("user_transfer_pending",)]


class TestAPause:
    async def test_of_the_treasury_queues_payouts_and_fails_none(self, world: World) -> None:
        await world.confirmed_swaps(1)
        world.chain.pause()

        for _ in range(5):
            await world.send_everything()

        assert await world.intent_states() == ["reserved"]
        assert await world.rows("SELECT failures FROM intent") == [(0,)]


class TestASlotWithoutPayments:
    async def test_is_filled_with_a_no_op_so_that_later_nonces_go_on(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.confirmed_swaps(1)
        killed_at(monkeypatch, "settler.after_slot")
        with pytest.raises(Killed):
            await world.send_everything()
        settle = SettleDeposits(
            PostgresUnitOfWork(world.engine, consumer="settler"),
            clock=world.clock,
            facts=Facts(world.catalogue),
            announcer=world.announcer,
        )
        await settle([a_deposit(1, version=3, state="reverted")])
        await world.confirmed_swaps(1, first=2)

        await world.send_everything()
        world.chain.mine()

        assert [world.paid(n) for n in (1, 2)] == [0, PAYOUT]
        cancels = await world.rows("SELECT nonce FROM attempt WHERE is_cancel")
        assert cancels == [(0,)]


class TestGas:
    async def test_money_is_booked_as_the_owners_before_anything_was_sent(
        self, world: World
    ) -> None:
        world.chain.give(SIGNER, NATIVE, 10**18)
        world.chain.mine()

        await world.close_slots()

        signer = await world.rows("SELECT balance FROM account WHERE holder = 'signer'")
        assert signer == [(10**18,)]

    async def test_is_booked_once_per_slot_and_a_rise_is_the_owners(self, world: World) -> None:
        world.chain.give(SIGNER, NATIVE, 5 * 10**18)
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.mine(3)

        await world.close_slots()
        await world.close_slots()

        held = world.chain.world.balances[SIGNER, NATIVE]
        signer = await world.rows("SELECT balance FROM account WHERE holder = 'signer'")
        assert signer == [(held,)]
        closed = await world.rows("SELECT count(*) FROM nonce_slot WHERE closed_at IS NOT NULL")
        assert closed == [(1,)]
        kinds = await world.rows(
            "SELECT kind, count(*) FROM ledger_transaction "
            "WHERE kind IN ('gas', 'topped_up') GROUP BY 1 ORDER BY 1"
        )
        assert kinds == [("gas", 1), ("topped_up", 1)]
