"""The settler under test for a model: two lanes with their chains, users, faults and operators.

The use cases, the statements and PostgreSQL are the real ones; the chains are in memory. What
users sent is recorded here, separately from the ledger, to compare it with the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final
from uuid import UUID, uuid5

from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.test_lane_schedules import Side
from services.settler.tests.lane_harness import (
    DESTINATION,
    IDS,
    NOW,
    PAYOUT,
    QUOTE,
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
    a_rise,
    a_sweep,
    address_of,
)
from services.settler.tests.recovery_harness import is_open, mark_final_blocks_read, proving
from swap_chains.errors import ChainError
from swap_chains.evm import codec
from swap_chains.ports import Call, Fees
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.payouts import PayoutChanged
from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from swap_contracts.topics import DEPOSIT_CHANGED
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused as OrderRefused
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.leases import LeaseLost
from swap_runtime.postgres.sql import sql
from swap_settler.operator.decide.signer import EVERYWHERE
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.store.stops import PostgresStops
from swap_settler.operator.usecases.pay_claimable import PayClaimable, PaymentOrder
from swap_settler.operator.usecases.stop_payouts import StopPayouts
from swap_settler.paying.usecases.close_slots import ROUNDS_UNEXPLAINED_MAX
from swap_settler.settling.decide.deposits import NotReversible
from swap_settler.settling.decide.requotes import RequoteRefusal
from swap_settler.settling.store.due_requotes import PostgresDueRequotes
from swap_settler.settling.usecases.expire_swaps import ExpireSwaps
from swap_settler.settling.usecases.requote_swaps import RequoteSwaps
from tests.plugins.postgres import emptying

BY: Final = {"by": "ann", "reason": "the model"}
GAS_MONEY: Final = 10**19
LATE: Final = timedelta(minutes=30)  # after the quote's expiry, before the swap's
TOO_LATE: Final = timedelta(hours=7)
QUOTED_MIN: Final = 10**16
ROUNDS_MAX: Final = 40
REFUND_COSTS_MAX: Final = 10**16  # of one refund on a chain after several rises of its fees
UNKNOWN_SWAP: Final = 9999
DUE: Final = """
SELECT 'intent', id::text, state FROM intent WHERE state NOT IN ('confirmed', 'dead')
UNION ALL SELECT 'refund', swap_id::text, '' FROM refund_due
UNION ALL SELECT 'requote', swap_id::text, '' FROM requote_due
"""
ADD_OUTBOX_MESSAGE: Final = sql("""
INSERT INTO outbox (message_id, topic, key, payload)
VALUES (:message_id, 'deposit.changed.v1', '', '')
""")
WATCHED: Final = sql("""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
                          checked_number, last_outbox_id)
VALUES (:network, 9, '0x1', '0x2', :time, 9, 0, 0, 1000000000)
ON CONFLICT (network) DO UPDATE SET time = excluded.time
""")
COUNTED: Final = sql("""
INSERT INTO deposit_target (network, address, since, position, looked_at, counted_number,
                            counted_time)
VALUES (:network, :address, :since, nextval('deposit_target_position'), :since, 9, :time)
ON CONFLICT (network, address) DO UPDATE SET counted_time = excluded.counted_time
""")
FORGOTTEN: Final = sql(emptying("watch_cursor, outbox, deposit_target"))
PASSED: Final = """
INSERT INTO ledger_cursor (network, number) VALUES ('{network}', {number})
ON CONFLICT (network) DO UPDATE SET number = excluded.number RETURNING number
"""
NAMED: Final = "SELECT transaction_hash FROM foreign_transaction"
BECOME_DUE: Final = (
    "UPDATE intent SET due_at = now() WHERE state = 'reserved' RETURNING id",
    "UPDATE requote_due SET due_at = now() RETURNING swap_id",
    "UPDATE refund_due SET due_at = now() RETURNING swap_id",
    "UPDATE sweep_due SET due_at = now() RETURNING address",
)
CLAIMABLE: Final = """
SELECT id, -balance AS units, swap_id, network FROM account
WHERE kind IN ('claimable', 'suspense') AND balance < 0 ORDER BY id
"""
ENDS: Final = """
SELECT sequence_number AS number, status,
    (SELECT coalesce(sum(base_units), 0) FROM deposit
     WHERE swap_id = swap.id AND state = 'credited') AS credited,
    (SELECT coalesce(sum(returned_base_units), 0) FROM deposit
     WHERE swap_id = swap.id AND state = 'credited') AS returned,
    (SELECT coalesce(sum(-balance), 0) FROM account
     WHERE kind = 'claimable' AND swap_id = swap.id) AS claimable,
    (SELECT count(*) FROM intent WHERE swap_id = swap.id AND state = 'confirmed') AS paid,
    (SELECT coalesce(sum(base_units), 0) FROM intent
     WHERE swap_id = swap.id AND state = 'confirmed' AND kind = 'claim') AS claimed,
    (SELECT count(*) FROM intent
     WHERE swap_id = swap.id AND state = 'confirmed' AND kind = 'refund') AS refunds
FROM swap ORDER BY number
"""


class Prices:
    """Offers nine tenths of the deposit, or does not answer for a while."""

    def __init__(self) -> None:
        self.is_away = False

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer | RequoteRefusal:
        units = int(question.base_units)
        if self.is_away:
            return RequoteRefusal.NO_ANSWER
        if units < QUOTED_MIN:
            return RequoteRefusal.BELOW_MINIMUM
        out = units * PAYOUT // REQUESTED
        changes = {
            "requested_base_units": str(units),
            "receive_base_units": str(out),
            "min_receive_base_units": str(out),
            "service_fee_base_units": str(units - out),
            "total_fee_base_units": str(units - out),
        }
        return QuoteAnswer(quote=QUOTE.model_copy(update=changes), lifetime_seconds=300)


@dataclass
class SentDeposit:
    """One deposit as its chain has it now."""

    swap: int
    nth: int
    units: int
    body: DepositChanged
    version: int = 0
    state: str = ""
    was_reverted: bool = False


@dataclass
class Model:
    """The state that the rules of the machine change."""

    there: World
    here: World
    watcher: Engine
    random: Random
    sent: list[SentDeposit] = field(default_factory=list)
    methods: dict[int, str] = field(default_factory=dict)
    waiting: list[Envelope[DepositChanged]] = field(default_factory=list)
    delivered: list[Envelope[DepositChanged]] = field(default_factory=list)
    parked: list[UUID] = field(default_factory=list)
    external: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now = NOW
        self.prices = Prices()
        self._swept: Counter[str] = Counter()
        for world in (self.there, self.here):
            world.clock = lambda: self.now
        self.sides = {
            DESTINATION: Side(self.there, self.random),
            SOURCE: Side(self.here, self.random),
        }

    async def begin(self, *, funded: int) -> None:
        """Put inventory on the destination, and gas money on both networks.

        The source's Treasury holds the ledger's balance on chain, and pays claims from it before
        a deposit address is swept.
        """
        async with self.watcher.begin() as connection:
            await connection.execute(FORGOTTEN)
        for world in (self.there, self.here):
            world.chain.give(world.signer, NATIVE, GAS_MONEY)
            world.chain.mine()
            await world.close_slots()
        body = a_funding(10**6).body.model_copy(update={"base_units": str(funded)})
        here = a_funding(10**6 + 1).body.model_copy(update={"network": SOURCE})
        for fact in (body, here):
            await self.there.settle(
                DEPOSIT_CHANGED.seal(fact, version=fact.version, occurred_at=NOW, trace_id="t")
            )

    # Users

    async def create(self, method: str, *, has_refund_address: bool) -> int:
        number = len(self.methods) + 1
        self.methods[number] = method
        refund = a_recipient(number) if has_refund_address else None
        await self.here.requesting()([a_request(number, method=method, refund_address=refund)])
        return number

    async def create_again(self, number: int) -> None:
        """Redeliver the request."""
        await self.here.requesting()([a_request(number, method=self.methods[number])])

    async def name_refund_address(self, number: int) -> None:
        await self.here.refund_address(number, a_recipient(number))

    async def send(self, number: int, units: int, *, is_late: bool = False, **wrong: Any) -> None:
        """Send money as a user; it is on the chain at once, and the settler receives it later."""
        nth = sum(one.swap == number for one in self.sent)
        time = max(NOW + LATE if is_late else NOW, self.now)
        if self.methods.get(number) == "deposit_address" and not wrong:
            body = a_rise(number, units, nth=nth, block_time=time).body
            self.here.chain.give(body.to_address, NATIVE, units)
        else:
            id = uuid5(IDS, f"sent/{number}/{nth}")
            fields = {"deposit_id": id, "base_units": str(units), "block_time": time, **wrong}
            body = a_deposit(number, transaction_hash="0x" + id.hex * 2, **fields).body
        self.sent.append(SentDeposit(number, nth, units, body))
        await self.observe(len(self.sent) - 1, "confirmed")

    async def observe(self, index: int, state: str) -> None:
        """Publish a new state of a deposit, as the chain-watcher does."""
        one = self.sent[index]
        one.version, one.state = one.version + 1, state
        one.was_reverted |= state == "reverted"
        body = one.body.model_copy(update={"version": one.version, "state": state})
        fact = DEPOSIT_CHANGED.seal(body, version=one.version, occurred_at=NOW, trace_id="t")
        async with self.watcher.begin() as connection:
            await connection.execute(ADD_OUTBOX_MESSAGE, {"message_id": fact.message_id})
        self.waiting.append(fact)

    # Delivery

    async def deliver(self, chosen: list[Envelope[DepositChanged]]) -> None:
        """Deliver a batch; a refused message is parked alone, as by the consumer."""
        try:
            await self.here.settle(*chosen)
        except NotReversible:
            for one in chosen:
                try:
                    await self.here.settle(one)
                except NotReversible:
                    self.parked.append(one.body.deposit_id)
        self.delivered += chosen

    # Operators

    async def pay_claim(self, index: int) -> None:
        rows = await self.here.rows(CLAIMABLE)
        if not rows:
            return
        row = rows[index % len(rows)]
        work = PostgresClaimUnitOfWork(self.here.engine, consumer="settler")
        pay = PayClaimable(
            work,
            catalogue=self.here.catalogue,
            clock=lambda: self.now,
            swap_messages=self.here.swap_messages,
            prices=FixedPrices(),
        )
        to = a_recipient(500 + index)
        with suppress(OrderRefused):
            await pay(PaymentOrder(int(row.id), int(row.units), to, **BY))

    @property
    def switch(self) -> StopPayouts:
        return StopPayouts(PostgresStops(self.here.engine), networks=[SOURCE, DESTINATION])

    async def stop(self, network: str) -> None:
        await self.switch.stop(network, **BY)

    async def lift(self) -> None:
        for network in (EVERYWHERE, SOURCE, DESTINATION):
            with suppress(OrderRefused):
                await self.switch.lift(network, **BY)  # type: ignore[arg-type]

    async def explain(self, network: str) -> None:
        """Name the transactions that used a halted signer's nonces, and resume it."""
        world = self.sides[network].world
        with suppress(OrderRefused, Unavailable, ChainError):
            named = [one for one in self.external.get(network, []) if world.chain.find(one)]
            await world.resuming()(network, used_by=named, by=BY["by"], reason=BY["reason"])

    # The settler's own work

    async def requote(self) -> None:
        requote = RequoteSwaps(
            self.here._settling,
            requotes=PostgresDueRequotes(self.here.engine, consumer="settler"),
            pricing=self.prices,
            clock=lambda: self.now,
            swap_messages=self.here.swap_messages,
            patience=timedelta(minutes=10),
            pause=timedelta(seconds=0),
        )
        await requote()

    async def expire(self) -> None:
        expire = ExpireSwaps(
            self.here._settling, clock=lambda: self.now, swap_messages=self.here.swap_messages
        )
        await expire()

    async def pass_deadline(self) -> None:
        """Advance the chain-watcher's blocks, and all clocks, beyond every swap's deadline."""
        self.now = NOW + TOO_LATE
        async with self.watcher.begin() as connection:
            await connection.execute(WATCHED, {"network": SOURCE, "time": self.now})
            for number, method in self.methods.items():
                if method == "deposit_address":
                    own = {"network": SOURCE, "address": address_of(number)}
                    await connection.execute(COUNTED, {**own, "since": NOW, "time": self.now})

    async def sweep(self) -> None:
        self.now += timedelta(microseconds=1)  # a sweep's id contains its time
        await self.here.order_sweeps()
        with suppress(ChainError):
            await self.here.new_sweeper()(epoch=self.here.epoch)

    async def report_sweeps(self) -> None:
        """Publish the chain's facts about sweeps, each once, and book the final ones."""
        chain = self.here.chain
        for block in chain.blocks[: chain.finalized_number + 1]:
            for sent, (_, outcome) in chain.mined_at(block).outcomes.items():
                for log in outcome.logs:
                    if log.topics[0] != codec.SWEPT or self._swept[f"{sent}/{log.topics[1]}"]:
                        continue
                    self._swept[f"{sent}/{log.topics[1]}"] += 1
                    number, units = int(log.topics[1], 16), int(log.data, 16)
                    fact = a_sweep(number, units, transaction_hash=sent)
                    await self.here.settle(fact)
        # Everything up to here was published and settled above.
        passed = PASSED.format(network=SOURCE, number=chain.finalized_number)
        await self.here.rows(passed)
        await self.here.book_sweeps()

    # Faults

    async def use_nonce_elsewhere(self, network: str) -> None:
        """Send a transfer with the signer's key, outside the lane."""
        world = self.sides[network].world
        nonce = world.chain.world.nonces.get(world.signer, 0)
        # The fake chain's transactions contain no chain id, so another value gives another hash.
        value = 10**15 + sum(map(len, self.external.values()))
        call = Call(to=a_recipient(666), value=value, data=b"", gas_limit=21_000)
        fees = Fees(10**14, 10**14)
        external = await world.sender.sign(call, nonce=nonce, fees=fees)
        if not world.chain.is_reachable:
            return
        await world.sender.broadcast([external])
        self.external.setdefault(network, []).append(external.transaction_hash)

    async def send_with_lost_lease(self, network: str) -> None:
        """Keep a process sending after another one has taken its lease."""
        side = self.sides[network]
        with suppress(ChainError, LeaseLost):
            assert await side.world.new_process()(epoch=side.world.epoch - 1) == 0

    # The end

    async def restore_services(self) -> None:
        self.prices.is_away = False
        await self.lift()
        for side in self.sides.values():
            side.world.chain.make_available()
            side.world.chain.base_fee = 10**9
        facts, self.waiting = self.waiting, []
        for fact in facts:
            await self.deliver([fact])
        # A partial deposit waits for the rest until the deadline.
        await self.pass_deadline()

    async def run_until_idle(self) -> None:
        """
        :raises AssertionError: naming the work that stays due.
        """
        for _ in range(ROUNDS_MAX):
            for statement in BECOME_DUE:
                await self.here.rows(statement)
            await self.requote()
            await self.expire()
            for network, side in self.sides.items():
                await side.run_round()
                await self._resume(network)
            await self.recover()
            await self.sweep()
            await self.report_sweeps()
            if not await self.here.rows(DUE):
                return
        raise AssertionError(f"due for ever: {await self.here.rows(DUE)}")

    async def work(self) -> None:
        """Run every part once, with the deposits that users sent."""
        facts, self.waiting = self.waiting, []
        await self.deliver(facts)
        await self.requote()
        for side in self.sides.values():
            with suppress(ChainError):
                await side.start_refunds()
                await side.send()
            side.world.chain.mine()
            with suppress(ChainError):
                await side.close()
            with suppress(ChainError):
                await side.report()
        with suppress(ChainError, Unavailable):
            await self.recover()

    async def recover(self) -> None:
        """Take a step towards the end of a recovery that an unexplained nonce started.

        It ends by its proofs alone, as the service ends it.
        """
        if not await is_open(self.here):
            return
        worlds = [side.world for side in self.sides.values()]
        for side in self.sides.values():
            await side.fence()
        await mark_final_blocks_read(self.watcher, *worlds)
        await proving(*worlds)()

    async def _resume(self, network: str) -> None:
        """Run the lane until it detects an external nonce, and name its transaction."""
        world = self.sides[network].world
        mined = {sent for sent in self.external.get(network, []) if world.chain.find(sent)}
        named = {row.transaction_hash for row in await world.rows(NAMED)}
        if mined <= named:
            return
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 3):
            world.chain.mine()
            await self.sides[network].close()
        await self.explain(network)

    async def check(self) -> Counter[str]:
        """Compare the end with the users' deposits; return how swaps ended.

        :raises AssertionError: naming a swap whose money is nowhere, or was paid twice.
        """
        came: Counter[int] = Counter()
        for one in self.sent:
            if one.state == "confirmed" and self._is_source_asset(one):
                came[one.swap] += one.units
        ends: Counter[str] = Counter()
        out = Counter(log.to_address for log in self.sides[DESTINATION].watcher.paid())
        sums_out = _sums(self.sides[DESTINATION].watcher.paid())
        sums_back = _sums(self.sides[SOURCE].watcher.paid())
        for swap in await self.here.rows(ENDS):
            number = int(swap.number)
            what = f"swap {number}: {swap}, {came[number]} came"
            assert out[a_recipient(number)] <= 1, f"{what}: paid out twice"
            if number not in self._swaps_with_parked_message():
                assert int(swap.credited) == came[number], what
            if came[number]:
                assert swap.paid or int(swap.claimable), f"{what}: neither paid nor claimable"
                assert swap.status in ("completed", "refunded", "failed", "expired"), what
            may_expire = self._may_expire(number, stayed=came[number], returned=int(swap.returned))
            assert swap.status != "expired" or may_expire, what
            if number not in self._swaps_with_parked_message() and not self._has_reverted_deposit(
                number
            ):
                to = a_recipient(number)
                _assert_sums(what, swap, out=sums_out[to], back=sums_back[to])
            ends[swap.status] += 1
        return ends

    def _may_expire(self, number: int, *, stayed: int, returned: int) -> bool:
        """Whether no deposit came in time, or only after one that a reorg removed later.

        A deposit after an accepted one is refunded separately, even if a reorg removes the first.
        """
        return not self._arrived_in_time(number) or (
            self._has_reverted_deposit(number) and returned == stayed
        )

    def _has_reverted_deposit(self, number: int) -> bool:
        return any(one.was_reverted for one in self.sent if one.swap == number)

    def _arrived_in_time(self, number: int) -> bool:
        """Whether a deposit arrived before the deadline, and was never reverted."""
        deadline = NOW + TOO_LATE
        mine = [one for one in self.sent if one.swap == number and self._is_source_asset(one)]
        return any(not one.was_reverted and one.body.block_time < deadline for one in mine)

    def _is_source_asset(self, one: SentDeposit) -> bool:
        return one.body.network == SOURCE and one.body.token == NATIVE

    def _swaps_with_parked_message(self) -> set[int]:
        """Return the swaps with a parked message."""
        return {one.swap for one in self.sent if one.body.deposit_id in self.parked}

    def now_is(self, at: datetime) -> None:
        self.now = max(self.now, at)


def _sums(logs: Iterable[PayoutChanged]) -> Counter[str]:
    """Return the sum that a Treasury paid to each address."""
    sums: Counter[str] = Counter()
    for log in logs:
        sums[log.to_address] += int(log.base_units)
    return sums


def _assert_sums(what: str, swap: Any, *, out: int, back: int) -> None:
    """
    :raises AssertionError: where the output is not nine tenths of the exchanged sum, or the rest is
        neither refunded, less its costs, nor claimed or claimable.
    """
    exchanged = int(swap.credited) - int(swap.returned) if out else 0
    assert out == exchanged * PAYOUT // REQUESTED, f"{what}: {out} paid out"
    rest = int(swap.credited) - exchanged
    missing = rest - back - int(swap.claimed) - int(swap.claimable)
    assert 0 <= missing <= REFUND_COSTS_MAX * swap.refunds, (
        f"{what}: {back} paid back, {missing} of {rest} missing"
    )
