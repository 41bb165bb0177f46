"""One lane with its chain in memory and its database, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid5

import pytest
import yaml

from swap_chains.evm.codec import checksum_address, depository_id
from swap_chains.evm.deposit_addresses import deposit_address
from swap_chains.fake import FakeChain, FakeReader, FakeSender
from swap_chains.fake.execution import INIT_CODE_HASH
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.payouts import PayoutChanged
from swap_contracts.quoting import AssetRef, PathStep, Quote
from swap_contracts.swaps import RefundAddressSet, SwapRequested
from swap_contracts.topics import DEPOSIT_CHANGED, PAYOUT_CHANGED, SWAP_REQUESTS
from swap_domain.catalogue import NATIVE, Catalogue
from swap_domain.catalogue_document import catalogue_from
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_runtime.screening import BlockList, FreshList, Screening
from swap_settler.model.messages.message_mapping import MessageMapper
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.operator.store.external_nonces import (
    PostgresExternalNonces,
    PostgresExternalNonceUnitOfWork,
)
from swap_settler.operator.store.signers import PostgresSigners
from swap_settler.operator.usecases.close_external_nonces import CloseExternalNonces
from swap_settler.operator.usecases.prove_external_transactions import ProveExternalTransactions
from swap_settler.operator.usecases.resume_signers import ResumeSigners
from swap_settler.paying.decide.lane import GasAlarm, GasUnits, Retries
from swap_settler.paying.decide.replacing import Patience
from swap_settler.paying.decide.slots import Due
from swap_settler.paying.store.fences import PostgresFences
from swap_settler.paying.store.lane_store import LaneName, PostgresLaneStore
from swap_settler.paying.store.lane_sweeps import PostgresLaneSweeps
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork
from swap_settler.paying.usecases.abandon_payouts import AbandonPayouts
from swap_settler.paying.usecases.close_slots import CloseSlots
from swap_settler.paying.usecases.end_relays import EndRelays
from swap_settler.paying.usecases.mark_sent import MarkSent
from swap_settler.paying.usecases.rebroadcast import Rebroadcast
from swap_settler.paying.usecases.replace_stuck import ReplaceStuck
from swap_settler.paying.usecases.screen_payments import ScreenPayments
from swap_settler.paying.usecases.send_payouts import SendPayouts
from swap_settler.paying.usecases.send_sweeps import SendSweeps
from swap_settler.paying.usecases.transaction_calls import TransactionCalls
from swap_settler.recovery.store.recoveries import PostgresRecoveries
from swap_settler.recovery.usecases.finish_recovery import FinishRecovery
from swap_settler.settling.ports import DataFee
from swap_settler.settling.store.due_refunds import PostgresDueRefunds
from swap_settler.settling.usecases.request_swaps import RequestSwaps
from swap_settler.settling.usecases.settle_deposits import SettleDeposits
from swap_settler.settling.usecases.settle_payouts import SettlePayouts
from swap_settler.settling.usecases.start_refunds import StartRefunds
from swap_settler.sweeping.store.due_sweeps import PostgresDueSweeps
from swap_settler.sweeping.usecases.book_sweeps import BookSweeps
from swap_settler.sweeping.usecases.order_sweeps import OrderSweeps

SOURCE, DESTINATION = "ETHEREUM_DEVNET", "BASE_DEVNET"
EXAMPLE = Path(__file__).parents[3] / "docs/catalogue.example.yaml"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
IDS = UUID("00000000-0000-4000-8000-000000000000")
TREASURY = "0x0000000000000000000000000000000000000001"
SIGNER = "0x0000000000000000000000000000000000000003"
FUNDER = "0x0000000000000000000000000000000000000004"
DEPOSITORY = "0x0000000000000000000000000000000000000002"
FACTORY = "0x0000000000000000000000000000000000000007"
REQUESTED, PAYOUT = 10**18, 9 * 10**17
FEE_CAP = 10**12
SWEEPS_BOOKED_AT_ONCE = 3
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


def a_catalogue() -> Catalogue:
    document = yaml.safe_load(EXAMPLE.read_text())
    there = {**document["networks"][0], "name": DESTINATION, "chain_id": 31338}
    networks = [document["networks"][0], there]
    for network in networks:
        addresses = {"factory": FACTORY, "init_code_hash": INIT_CODE_HASH}
        network["contracts"] = {**network["contracts"], "deposit_addresses": addresses}
    return catalogue_from({**document, "networks": networks}, to_address=str)


def expect_wrong_nonces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every lane expect a wrong nonce, so that it signs after the assignment."""
    due = PostgresLaneStore.due

    async def wrong_due(store: PostgresLaneStore, *, limit: int) -> Due:
        is_reported = await due(store, limit=limit)
        return is_reported._replace(next_nonce=(is_reported.next_nonce or 0) + 1)

    monkeypatch.setattr(PostgresLaneStore, "due", wrong_due)


def a_recipient(number: int) -> str:
    return checksum_address(f"0x{0xA0000000 + number:040x}")


@dataclass
class World:
    """One lane with its chain and its database."""

    engine: Engine
    chain: FakeChain
    epoch: int
    statements: list[str] = field(default_factory=list)
    clock: Callable[[], datetime] = lambda: NOW
    network: str = DESTINATION
    dwell: timedelta = timedelta(days=9999)
    screens: Screening | None = None  # the list, by default
    signer: str = SIGNER
    treasury: str = TREASURY  # of the lane's network
    at: datetime = NOW  # the time of swap requests and their deposits

    def __post_init__(self) -> None:
        self.catalogue = a_catalogue()
        self.swap_messages = SwapMessages(self.catalogue)
        self.lane = LaneName(self.network, self.signer)
        self.work = PostgresLaneUnitOfWork(self.engine, consumer="settler", lane=self.lane)
        self.store = PostgresLaneStore(self.engine, self.lane)
        self.reader = FakeReader(self.chain)
        self.sender = FakeSender(self.chain, self.signer)
        self.mark_sent = MarkSent(self.work, clock=self.clock, swap_messages=self.swap_messages)
        self.abandon_payouts = AbandonPayouts(
            self.work,
            clock=self.clock,
            swap_messages=self.swap_messages,
            retries=Retries(attempts_max=2, pause=timedelta(0), dwell=self.dwell),
        )

        self.end_relays = EndRelays(
            self.work, chain=self.reader, clock=self.clock, swap_messages=self.swap_messages
        )

    def new_process(self) -> SendPayouts:
        """Return a lane without state."""
        return SendPayouts(
            chain=self.reader,
            sender=self.sender,
            store=self.store,
            result_listener=self.mark_sent,
            abandon_payouts=self.abandon_payouts,
            end_relays=self.end_relays,
            calls=self.calls,
            screen=self.screening,
            fee_cap=FEE_CAP,
        )

    @property
    def screening(self) -> ScreenPayments:
        fresh = FreshList(BlockList(self.engine))
        return ScreenPayments(
            self.screens or fresh,
            network=self.network,
            store=self.store,
            abandon_payouts=self.abandon_payouts,
        )

    @property
    def calls(self) -> TransactionCalls:
        gas = GasUnits(75_000, 95_000, sweep_native=90_000, sweep_erc20=95_000)
        return TransactionCalls(self.treasury, self.signer, NATIVE, gas, FACTORY)

    def replacing(
        self,
        *,
        after: timedelta = timedelta(0),
        dwell: timedelta = timedelta(hours=1),
        fee_cap: int = FEE_CAP,
    ) -> ReplaceStuck:
        """Return the use case that replaces nonces which are not mined."""
        return ReplaceStuck(
            chain=self.reader,
            sender=self.sender,
            store=self.store,
            mark_sent=self.mark_sent,
            calls=self.calls,
            patience=Patience(after, dwell, fee_cap),
        )

    def new_sweeper(self) -> SendSweeps:
        """Return the sweeping side of a lane without state."""
        return SendSweeps(
            chain=self.reader,
            sender=self.sender,
            store=self.store,
            sweeps=PostgresLaneSweeps(self.engine, self.lane),
            result_listener=self.mark_sent,
            calls=self.calls,
            fee_cap=FEE_CAP,
            look_seconds=0,
        )

    async def order_sweeps(self) -> None:
        await OrderSweeps(
            self._settling,
            sweeps=PostgresDueSweeps(self.engine),
            chain=self.reader,
            network=self.catalogue.network(SOURCE),
            clock=self.clock,
            again_after=timedelta(0),
        )()

    async def sweep(self) -> None:
        """Order due sweeps and send them, until none is left."""
        await self.order_sweeps()
        send = self.new_sweeper()
        while await send(epoch=self.epoch):
            pass

    async def book_sweeps(self) -> None:
        for network in self.catalogue.networks:
            book = self.booking(network)
            while await book():
                pass

    def booking(self, network: str) -> BookSweeps:
        return BookSweeps(
            self._settling,
            sweeps=PostgresDueSweeps(self.engine),
            network=self.catalogue.network(network),
            clock=self.clock,
            limit=SWEEPS_BOOKED_AT_ONCE,
        )

    async def request_with_addresses(self, *numbers: int, refund: bool = False) -> None:
        """Request swaps with deposit addresses."""
        requests = [
            a_request(
                n, method="deposit_address", refund_address=a_recipient(n) if refund else None
            )
            for n in numbers
        ]
        await self.requesting()(requests)

    async def arrives(
        self, number: int, units: int = REQUESTED, *, nth: int = 0, is_reported: bool = True
    ) -> None:
        """Add coins to a deposit address, and publish to the settler that they are final."""
        self.chain.give(address_of(number), NATIVE, units)
        if is_reported:
            await self.settle(a_rise(number, units, nth=nth))

    def held_at(self, number: int) -> int:
        return self.chain.world.balances.get((address_of(number), NATIVE), 0)

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
        await self.closing()(epoch=self.epoch)

    def closing(self, gas_alarm: GasAlarm | None = None) -> CloseSlots:
        """Return the use case that closes slots of final blocks."""
        return CloseSlots(
            chain=self.reader,
            signer=self.signer,
            native=NATIVE,
            store=self.store,
            fences=PostgresFences(self.engine, self.lane),
            unit_of_work=self.work,
            abandon_payouts=self.abandon_payouts,
            end_relays=self.end_relays,
            calls=self.calls,
            clock=self.clock,
            swap_messages=self.swap_messages,
            gas_alarm=gas_alarm or GasAlarm(1, 1),
        )

    def resuming(self) -> ResumeSigners:
        nonces, chains = PostgresExternalNonces(self.engine), {self.network: self.reader}
        close_external_nonces = CloseExternalNonces(
            nonces,
            PostgresExternalNonceUnitOfWork(self.engine, consumer="settler"),
            prove=ProveExternalTransactions(nonces, treasuries={self.network: self.treasury}),
            chains=chains,
            clock=self.clock,
            swap_messages=self.swap_messages,
        )
        signers = PostgresSigners(self.engine)
        return ResumeSigners(signers, chains=chains, close_external_nonces=close_external_nonces)

    def requesting(self) -> RequestSwaps:
        return RequestSwaps(
            self._settling,
            clock=self.clock,
            swap_messages=self.swap_messages,
            catalogue=self.catalogue,
        )

    async def confirmed_swaps(
        self,
        count: int,
        *,
        first: int = 1,
        to_address: str | None = None,
        quote: Quote = QUOTE,
    ) -> None:
        """Request swaps and confirm their deposits, so that their payouts wait for the lane."""
        numbers = range(first, first + count)
        request = self.requesting()
        await request(
            [a_request(n, to_address=to_address, quote=quote, at=self.at) for n in numbers]
        )
        deposits = (a_deposit(n, block_time=self.at) for n in numbers)
        await self.settle(a_funding(10**24 + first), *deposits)

    async def request_swap(self, number: int) -> None:
        request = self.requesting()
        await request([a_request(number, at=self.at)])

    async def refund_address(self, number: int, address: str) -> None:
        """Set the refund address of a swap."""
        body = RefundAddressSet(swap_id=a_request(number).body.swap_id, refund_address=address)
        is_reported = SWAP_REQUESTS.seal(body, version="refund", occurred_at=NOW, trace_id="t")
        await self.requesting()([is_reported])

    async def due_refunds(self, count: int) -> None:
        """Create swaps with due refunds, because there is no inventory to pay them out."""
        numbers = range(1, count + 1)
        request = self.requesting()
        await request([a_request(n, refund_address=a_recipient(n)) for n in numbers])
        await self.settle(*(a_deposit(n) for n in numbers))

    def starting_refunds(self, data_fee: DataFee | None = None) -> StartRefunds:
        return StartRefunds(
            self._settling,
            refunds=PostgresDueRefunds(self.engine),
            chain=self.reader,
            network=self.catalogue.network(SOURCE),
            clock=self.clock,
            swap_messages=self.swap_messages,
            data_fee=data_fee,
        )

    async def settle(self, *messages: Envelope[DepositChanged]) -> None:
        settle = SettleDeposits(
            self._settling,
            clock=self.clock,
            mapper=MessageMapper(self.catalogue),
            swap_messages=self.swap_messages,
        )
        await settle(messages)

    async def payout(
        self,
        state: Literal["seen", "confirmed", "reverted"],
        *,
        version: int,
        transaction_hash: str,
        is_first: bool = True,
    ) -> None:
        """Publish the watcher's facts about the first payment, or about the transaction's."""
        query = "SELECT paid_id, intent.network, token, to_address, base_units FROM intent"
        of_hash = (
            "JOIN slot_intent AS of ON of.intent_id = intent.id JOIN attempt "
            "ON attempt.network = of.network AND attempt.signer = of.signer "
            "AND attempt.nonce = of.nonce "
            f"WHERE attempt.transaction_hash = '{transaction_hash}'"
        )
        paid = (await self.rows(f"{query} {'' if is_first else of_hash} ORDER BY intent.id"))[0]
        body = PayoutChanged(
            intent_id=str(int(paid.paid_id)),
            version=version,
            state=state,
            network=paid.network,
            transaction_hash=transaction_hash,
            block_number=1,
            block_hash=depository_id(1),
            block_time=NOW,
            token=paid.token,
            to_address=paid.to_address,
            base_units=str(int(paid.base_units)),
        )
        settle = SettlePayouts(
            self._settling,
            clock=self.clock,
            mapper=MessageMapper(self.catalogue),
            swap_messages=self.swap_messages,
        )
        await settle([PAYOUT_CHANGED.seal(body, version=version, occurred_at=NOW, trace_id="t")])

    @property
    def _settling(self) -> PostgresUnitOfWork:
        return PostgresUnitOfWork(self.engine, consumer="settler")

    async def finish_recovery(self) -> None:
        """End the recovery that a chain's evidence started, as an operator does."""
        finish = FinishRecovery(PostgresRecoveries(self.engine))
        found = await finish.find()
        assert found is not None
        await finish(found.id, by="ann", reason="each payment was looked at")

    async def rows(self, query: str) -> Sequence[Any]:
        async with self.engine.connect() as connection:
            return await connection.execute(sql(query))

    async def execute(self, statement: str) -> None:
        async with self.engine.begin() as connection:
            await connection.execute(sql(statement))

    async def intent_states(self) -> list[str]:
        return [row.state for row in await self.rows("SELECT state FROM intent ORDER BY id")]

    def paid_amount(self, number: int) -> int:
        return self.chain.world.balances.get((a_recipient(number), NATIVE), 0)


def address_of(number: int) -> str:
    return deposit_address(FACTORY, INIT_CODE_HASH, number)


def a_rise(number: int, units: int = REQUESTED, *, nth: int = 0, **changes: Any) -> Envelope[Any]:
    """Return the message that coins arrived at a deposit address."""
    values = {
        "deposit_id": uuid5(IDS, f"rise/{number}/{nth}"),
        "kind": "balance_rose",
        "transaction_hash": None,
        "from_address": None,
        "to_address": address_of(number),
        "base_units": str(units),
        "sequence_number": None,
        **changes,
    }
    return a_deposit(number, **values)


def a_sweep(
    number: int, units: int = REQUESTED, *, transaction_hash: str, **changes: Any
) -> Envelope[Any]:
    """Return the message that an address was swept in a final block."""
    values = {
        "deposit_id": uuid5(IDS, f"sweep/{number}/{transaction_hash}"),
        "kind": "swept",
        "transaction_hash": transaction_hash,
        "from_address": address_of(number),
        "to_address": TREASURY,
        "base_units": str(units),
        "sequence_number": None,
        **changes,
    }
    return a_deposit(number, **values)


def a_request(
    number: int,
    *,
    refund_address: str | None = None,
    to_address: str | None = None,
    method: str = "depository",
    quote: Quote = QUOTE,
    at: datetime = NOW,
) -> Envelope[Any]:
    body = SwapRequested(
        swap_id=uuid5(IDS, f"swap/{number}"),
        app_id=IDS,
        sequence_number=number,
        reference_id=None,
        method=method,  # type: ignore[arg-type]
        source=ETHER,
        destination=ETHER_THERE,
        source_address=None,
        destination_address=to_address or a_recipient(number),
        refund_address=refund_address,
        created_at=at,
        expires_at=at + timedelta(hours=6),
        quote=quote,
        quote_expires_at=at + timedelta(minutes=5),
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
