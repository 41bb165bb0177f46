"""The unit of work in memory. It passes the same suite as the one on Postgres."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from swap_domain.lifecycle import Status
from swap_runtime.clock import utc_now
from swap_runtime.messaging.outbox import Outgoing
from swap_settler.model.chain_facts import SweptFact
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import Account, AccountKind, LedgerTransaction
from swap_settler.model.ledger.inventory import AssetKey, Inventory, assets_moved, inventory_after
from swap_settler.model.ports import (
    OpenedDeposits,
    OpenedPayouts,
    OpenedRequests,
    PaymentKey,
    Place,
)
from swap_settler.model.store.inventory_news import inventory_news
from swap_settler.model.swap import Deposit, Intent, IntentKind, IntentState, Leg, Swap
from swap_settler.model.treasury import UnbookedSweep, Withdrawal
from swap_settler.model.work_due import WorkDue, work_due
from swap_settler.settling.ports import DueRefund, DueRequote

BOTH_WAYS = {AccountKind.EQUITY, AccountKind.POSITION}
DEBIT = {
    AccountKind.CUSTODY,
    AccountKind.GAS_EXPENSE,
    AccountKind.LOSS,
    AccountKind.PAYOUT_SUSPENSE,
}


UNSENT = (IntentState.RESERVED, IntentState.ASSIGNED)
PAYS = {IntentKind.OUTPUT, IntentKind.REFUND}
DAY = timedelta(days=1)


class ConstraintViolated(Exception):
    """An operation that a constraint of Postgres would refuse."""


@dataclass(frozen=True, slots=True)
class Due:
    """A row of work. Its times are durations on the clock that `wait` moves."""

    id: int
    since: timedelta
    due_at: timedelta


class FakeUnitOfWork:
    """Discards all changes of a failed transaction."""

    def __init__(self) -> None:
        self.inbox: frozenset[UUID] = frozenset()
        self.swaps: dict[UUID, Swap] = {}
        self.proofs: dict[UUID, tuple[str, str]] = {}
        self.transitions: dict[tuple[UUID, int], tuple[Status | None, Status]] = {}
        self.deposits: dict[UUID, Deposit] = {}
        self.intents: dict[UUID, Intent] = {}
        self.ledger: dict[str, LedgerTransaction] = {}
        self.balances: Counter[Account] = Counter()
        self.inventory: dict[AssetKey, Inventory] = {}
        self.elapsed = timedelta(0)
        self.refunds_due: dict[tuple[UUID, Leg], Due] = {}
        self.dues = 0
        self.withdrawals: dict[UUID, Withdrawal] = {}
        self.withdrawals_booked: frozenset[UUID] = frozenset()
        self.numbers: dict[Place, int] = {}  # of deposit addresses
        self.swept: dict[UUID, SweptFact] = {}
        self.swept_booked: dict[UUID, bool] = {}  # whether without a swap
        self.requotes_due: dict[UUID, Due] = {}
        self.completions_due: dict[UUID, datetime] = {}
        self.halted: dict[str, str] = {}
        self.sent: list[Outgoing] = []
        self.block_times: dict[str, datetime] = {}  # of networks with all facts received

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[FakeUnitOfWork]:
        before = {name: copy(value) for name, value in vars(self).items()}
        try:
            yield self
        except BaseException:
            vars(self).update(before)
            raise

    async def open_deposits(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        deposit_ids: Collection[UUID],
        assets: Collection[AssetKey] = (),
    ) -> OpenedDeposits:
        if not keys:  # those of the deposits are included
            return OpenedDeposits(self._mark(message_ids), {})
        known = (d for d in self.deposits.values() if d.id in deposit_ids)
        ids = {d.swap_id for d in known} | {
            s.id for s in self.swaps.values() if s.match_key in keys
        }
        swaps = map(self.swap, filter(None, ids))
        return OpenedDeposits(self._mark(message_ids), {swap.match_key: swap for swap in swaps})

    async def open_payouts(
        self, message_ids: Sequence[UUID], *, payments: Collection[PaymentKey]
    ) -> OpenedPayouts:
        live = [
            ((i.network, i.paid_id), i)
            for i in self.intents.values()
            if i.is_live and i.paid_id and (i.network, i.paid_id) in payments
        ]
        return OpenedPayouts(
            self._mark(message_ids),
            owners={key: intent.swap_id for key, intent in live if intent.swap_id},
            standalone_intents={key: intent.id for key, intent in live if intent.swap_id is None},
        )

    async def open_requests(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        swap_ids: Collection[UUID],
        deposit_ids: Collection[UUID],
    ) -> OpenedRequests:
        swaps = await self.lock_swaps_by_id(swap_ids)
        waiting = await self.unmatched_deposits(deposit_ids, keys)
        return OpenedRequests(self._mark(message_ids), swaps, waiting)

    def _mark(self, message_ids: Sequence[UUID]) -> frozenset[UUID]:
        fresh = frozenset(message_ids) - self.inbox
        self.inbox |= fresh
        return fresh

    async def lock_swaps_by_id(self, ids: Collection[UUID]) -> Mapping[UUID, Swap]:
        return {id: self.swap(id) for id in ids if id in self.swaps}

    async def lock_expiring(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        due = []
        for swap in map(self.swap, sorted(self.swaps)):
            block_time = self.block_times.get(swap.terms.source.network)
            has_passed = block_time is not None and swap.expires_at < min(now, block_time)
            may_get_money = bool(swap.open_deposits) or swap.awaits_relay
            if swap.status is Status.DEPOSIT_PENDING and has_passed and not may_get_money:
                due.append(swap)
        return due[:limit]

    async def swaps_with_lapsed(self, now: datetime, *, limit: int) -> Sequence[UUID]:
        lapsed = [
            (relay.not_after, relay.swap_id)
            for relay in self._of_kind(IntentKind.GASLESS)
            if relay.state in UNSENT and not relay.has_open_attempt
            if relay.swap_id and relay.not_after and relay.not_after <= now
        ]
        return [swap_id for _, swap_id in sorted(lapsed)[:limit]]

    async def reverted_relays(self, signers: Collection[str]) -> Mapping[str, int]:
        since = utc_now() - DAY  # the clock of the database
        return Counter(
            relay.payer
            for relay in self._of_kind(IntentKind.GASLESS)
            if relay.payer in signers and not relay.is_live
            if relay.payer and relay.slot_at and relay.slot_at > since
        )

    def _of_kind(self, kind: IntentKind) -> Sequence[Intent]:
        return [intent for intent in self.intents.values() if intent.kind is kind]

    async def unmatched_deposits(
        self, ids: Collection[UUID], match_keys: Collection[str]
    ) -> Mapping[UUID, Deposit]:
        return {
            d.id: d
            for d in sorted(self.deposits.values(), key=lambda d: (d.received_at, d.id))
            if d.swap_id is None and (d.id in ids or d.match_key in match_keys)
        }

    async def store_attachment(self, deposit_id: UUID, *, by: str, because: str) -> None:
        self.proofs[deposit_id] = (by, because)

    async def live_standalone_intents(self, deposit_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
        return {
            intent.deposit_id: intent.id
            for intent in self._standalone_intents
            if intent.kind is IntentKind.CLAIM
            if intent.deposit_id and intent.deposit_id in deposit_ids
        }

    async def lock_standalone_intents(self, ids: Collection[UUID]) -> Mapping[UUID, Intent]:
        return {i.id: i for i in self._standalone_intents if i.id in ids}

    @property
    def _standalone_intents(self) -> Sequence[Intent]:
        return [i for i in self.intents.values() if i.is_live and i.swap_id is None]

    async def lock_inventory(self, assets: Collection[AssetKey]) -> Mapping[AssetKey, Inventory]:
        return {asset: self.inventory.setdefault(asset, Inventory(*asset)) for asset in assets}

    async def numbers_at(self, places: Collection[Place]) -> Mapping[Place, int]:
        return {place: self.numbers[place] for place in places if place in self.numbers}

    async def save_swept(self, swept: Sequence[SweptFact]) -> None:
        for one in swept:
            known = self.swept.get(one.id, one)
            if known is one or known.version < one.version:
                self.swept = {**self.swept, one.id: _with_news(known, one)}

    async def lock_unbooked_sweeps(self, network: str, *, limit: int) -> Sequence[UnbookedSweep]:
        final = [
            self._to_unbooked_sweep(one, is_assigned=(network, one.from_address) in self.numbers)
            for one in self.swept.values()
            if one.network == network and one.state == "confirmed"
            if one.id not in self.swept_booked and not one.is_quarantined
        ]
        bookable = [
            one for one in final if not one.is_assigned or one.base_units <= one.booked_base_units
        ]
        return sorted(bookable, key=lambda one: (one.block_number, one.id))[:limit]

    async def take_over_swept(self, places: Collection[Place]) -> Sequence[UnbookedSweep]:
        taken_over = [
            one
            for id, one in self.swept.items()
            if self.swept_booked.get(id) and (one.network, one.from_address) in places
        ]
        ids = {one.id for one in taken_over}
        self.swept_booked = {id: is_ for id, is_ in self.swept_booked.items() if id not in ids}
        return [
            replace(self._to_unbooked_sweep(one, is_assigned=True), booked_base_units=0)
            for one in taken_over
        ]

    async def mark_swept_booked(self, booked: Mapping[UUID, bool]) -> None:
        self.swept_booked = {**self.swept_booked, **booked}

    def _to_unbooked_sweep(self, one: SweptFact, *, is_assigned: bool) -> UnbookedSweep:
        booked = self.balance(
            AccountKind.CUSTODY, network=one.network, token=one.token, address=one.from_address
        )
        return UnbookedSweep(
            one.id,
            one.network,
            one.token,
            one.from_address,
            one.base_units,
            one.block_number,
            booked,
            is_assigned=is_assigned,
            transaction_hash=one.transaction_hash,
            block_hash=one.block_hash,
            block_time=one.block_time,
        )

    async def save_withdrawals(self, withdrawals: Sequence[Withdrawal]) -> None:
        for one in withdrawals:
            known = self.withdrawals.get(one.id, one)
            if known is one or known.version < one.version:
                self.withdrawals = {**self.withdrawals, one.id: _with_news(known, one)}

    async def lock_unbooked_withdrawals(self, *, limit: int) -> Sequence[Withdrawal]:
        final = [w for w in self.withdrawals.values() if w.state == "confirmed"]
        unbooked = [w for w in final if w.id not in self.withdrawals_booked]
        return sorted(unbooked, key=lambda w: (w.network, w.block_number, w.id))[:limit]

    async def mark_withdrawals_booked(self, ids: Sequence[UUID]) -> None:
        self.withdrawals_booked = self.withdrawals_booked | set(ids)

    async def has_unbooked(self) -> bool:
        return bool(await self.lock_unbooked_withdrawals(limit=1))

    async def postpone_refunds(self, ids: Sequence[int], *, pause: timedelta) -> None:
        due_at = self.elapsed + pause
        self.refunds_due = {
            leg: replace(due, due_at=due_at) if due.id in ids else due
            for leg, due in self.refunds_due.items()
        }

    async def drop_refunds_due(self, ids: Sequence[int]) -> None:
        self.refunds_due = {leg: due for leg, due in self.refunds_due.items() if due.id not in ids}

    async def settle_requotes_due(
        self, done: Sequence[UUID], again: Sequence[UUID], *, pause: timedelta
    ) -> None:
        due_at = self.elapsed + pause
        self.requotes_due = {
            id: replace(due, due_at=due_at) if id in again else due
            for id, due in self.requotes_due.items()
            if id not in done
        }

    async def lock_overdue(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        due = [id for id, due_at in self.completions_due.items() if due_at <= now]
        return [self.swap(id) for id in sorted(due)][:limit]

    async def refuels_in_doubt(self, swap_ids: Collection[UUID]) -> Collection[UUID]:
        return [
            refuel.swap_id
            for refuel in self._of_kind(IntentKind.REFUEL)
            if refuel.swap_id in swap_ids and refuel.swap_id and refuel.state in UNSENT
            if refuel.network in self.halted or self._is_paid_externally(refuel)
        ]

    def _is_paid_externally(self, intent: Intent) -> bool:
        prefix = f"payout_unexplained/{intent.network}/{intent.paid_id}/"
        return any(key.startswith(prefix) for key in self.ledger)

    async def drop_completions_due(self, ids: Sequence[UUID]) -> None:
        self.completions_due = {
            id: due_at for id, due_at in self.completions_due.items() if id not in ids
        }

    async def due(self, network: str, *, limit: int) -> Sequence[DueRefund]:
        of_network = [
            (due, swap_id, leg)
            for (swap_id, leg), due in self.refunds_due.items()
            if self.swaps[swap_id].terms.source.network == network and due.due_at <= self.elapsed
        ]
        of_network.sort(key=lambda row: (row[0].due_at, row[0].id))
        return [
            DueRefund(due.id, swap_id, leg, self.elapsed - due.since)
            for due, swap_id, leg in of_network[:limit]
        ]

    def wait(self, duration: timedelta) -> None:
        """Advance the clock of due work."""
        self.elapsed += duration

    async def flush(self, changes: Sequence[Changes], outgoing: Sequence[Outgoing]) -> None:
        for change in changes:
            self._save(change)
        self._save_deposits({d.id: d for change in changes for d in change.deposits})
        self._save_intents({i.id: i for change in changes for i in change.intents})
        self._save_due(work_due(changes))
        entries = [entry for change in changes for entry in change.ledger]
        touched = await self.lock_inventory(assets_moved(entries))
        moved = [new for row in touched.values() if (new := inventory_after(row, entries)) != row]
        for row in moved:
            self.inventory[row.network, row.token] = row
        for account, balance in self.balances.items():
            self._check(account, balance)
        self.sent += outgoing
        if entries:
            self.sent += inventory_news(moved, [c for c in changes if c.ledger][-1])

    def _save(self, change: Changes) -> None:
        swap = change.swap
        if swap is not None:
            self._save_swap(swap, previous_status=change.previous_status)
        if change.target is not None and swap is not None:
            target = change.target
            if target.place in self.numbers or target.sequence_number in self.numbers.values():
                raise ConstraintViolated(f"{target.place} is another swap's")
            self.numbers[target.place] = target.sequence_number
        for entry in change.ledger:
            if entry.dedupe_key in self.ledger:
                raise ConstraintViolated(f"{entry.dedupe_key} was booked")
            self.ledger[entry.dedupe_key] = entry
            for posting in entry.postings:
                self.balances[posting.account] += posting.base_units
        if change.halt is not None:
            known = self.halted.get(change.halt.network, "").split("; ")
            reasons = dict.fromkeys([*filter(None, known), change.halt.reason])
            self.halted[change.halt.network] = "; ".join(reasons)

    def _save_swap(self, swap: Swap, *, previous_status: Status | None) -> None:
        if (swap.id, swap.sequence) in self.transitions:
            raise ConstraintViolated(f"sequence {swap.sequence} of {swap.id} was spent")
        if any(o.match_key == swap.match_key and o.id != swap.id for o in self.swaps.values()):
            raise ConstraintViolated(f"{swap.match_key} is another swap's")
        self.transitions[swap.id, swap.sequence] = (previous_status, swap.status)
        known = self.swaps.get(swap.id, swap)
        terms = replace(known.terms, refund_address=swap.terms.refund_address)
        authorization = swap.authorization or known.authorization
        self.swaps[swap.id] = replace(swap, terms=terms, authorization=authorization)

    def _save_deposits(self, deposits: Mapping[UUID, Deposit]) -> None:
        for id, new in deposits.items():
            known = self.deposits.get(id, new)
            if known.version <= new.version:
                self.deposits[id] = replace(
                    _with_news(known, new),
                    swap_id=new.swap_id,
                    returned_base_units=new.returned_base_units,
                    is_booked=new.is_booked,
                    transaction_hash=new.transaction_hash,
                    from_address=new.from_address,
                    method=new.method,
                    sequence_number=new.sequence_number,
                    memo=new.memo,
                    quarantine_reason=new.quarantine_reason,
                    confirmations_required=new.confirmations_required,
                    attached_at=new.attached_at,
                    came_after=new.came_after,
                )

    def _save_intents(self, intents: Mapping[UUID, Intent]) -> None:
        for id, new in intents.items():
            known = self.intents.get(id)
            if known is None:  # the lane stores attempts
                known = replace(new, attempts=frozenset(), has_open_attempt=False)
            self.intents[id] = replace(
                _with_news(known, new),
                charged_base_units=new.charged_base_units,
                transaction_hash=new.transaction_hash,
                confirmed_at=new.confirmed_at,
                dead_proof=new.dead_proof,
                slot_at=None if new.state is IntentState.RESERVED else known.slot_at,
            )
            has_slot = self.intents[id].slot_at is not None
            if not has_slot and new.state not in (IntentState.RESERVED, IntentState.DEAD):
                raise ConstraintViolated(f"intent {id} is {new.state} without a slot")
        self._check_intents()

    def _check_intents(self) -> None:
        """Refuse two live intents where one index of Postgres allows one."""
        live = [intent for intent in self.intents.values() if intent.is_live]
        _refuse_twice((i.network, i.paid_id) for i in live if i.paid_id is not None)
        _refuse_twice((i.swap_id, i.deposit_id) for i in live if i.kind in PAYS)
        _refuse_twice(i.swap_id for i in live if i.kind is IntentKind.REFUEL)
        _refuse_twice(i.swap_id for i in live if i.kind is IntentKind.GASLESS)
        claims = [i for i in live if i.kind is IntentKind.CLAIM]
        _refuse_twice((i.deposit_id, i.swap_id, i.network, i.token) for i in claims)

    def _save_due(self, due: WorkDue) -> None:
        for refund in due.refunds:
            self.dues += 1
            new = Due(self.dues, self.elapsed, self.elapsed)
            self.refunds_due.setdefault((refund.swap_id, refund.leg), new)
        self.requotes_due |= dict.fromkeys(due.requotes, Due(0, self.elapsed, self.elapsed))
        self.completions_due = {**due.completions, **self.completions_due}

    def _check(self, account: Account, balance: int) -> None:
        is_wrong = balance < 0 if account.kind in DEBIT else balance > 0
        if is_wrong and account.kind not in BOTH_WAYS:
            raise ConstraintViolated(f"{account} is at {balance}")

    def sign(self, intent_id: UUID, transaction_hash: str) -> None:
        """Assign a slot and store a signed attempt, as the sender lane does."""
        intent = self.intents[intent_id]
        attempts = intent.attempts | {transaction_hash}
        state = IntentState.ASSIGNED if intent.state is IntentState.RESERVED else intent.state
        self.intents[intent_id] = replace(
            intent,
            state=state,
            slot_at=intent.slot_at or utc_now(),
            attempts=attempts,
            has_open_attempt=True,
        )

    def close(self, intent_id: UUID) -> None:
        """Close the slot, as the lane does when a final block proves that no attempt paid."""
        self.intents[intent_id] = replace(self.intents[intent_id], has_open_attempt=False)

    def swap(self, id: UUID) -> Swap:
        """Return a swap as it would be loaded."""
        deposits = {d.id: d for d in self.deposits.values() if d.swap_id == id}
        intents = {i.id: i for i in self.intents.values() if i.swap_id == id and i.is_live}
        return replace(self.swaps[id], deposits=deposits, intents=intents)

    def balance(self, kind: AccountKind, **identity: object) -> int:
        """Return the sum over the accounts of a kind that have the given members."""
        return sum(
            balance
            for account, balance in self.balances.items()
            if account.kind is kind
            and all(getattr(account, name) == value for name, value in identity.items())
        )


class FakeRequotes:
    """The due requotes of a unit of work in memory."""

    def __init__(self, work: FakeUnitOfWork) -> None:
        self._work = work

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        now = self._work.elapsed
        waiting = self._work.requotes_due.items()
        due = sorted((due.due_at, id, now - due.since) for id, due in waiting if due.due_at <= now)
        return [DueRequote(id, waited) for _, id, waited in due[:limit]]


class FixedPrices:
    """Prices in dollars × 10^18 for one whole token; empty, as while the quoter is unavailable."""

    def __init__(self, prices: Mapping[AssetKey, int] | None = None) -> None:
        self._prices = prices or {}

    async def current(self) -> Mapping[AssetKey, int]:
        return self._prices


Fact = TypeVar("Fact", SweptFact, Withdrawal, Deposit, Intent)


def _with_news(known: Fact, new: Fact) -> Fact:
    """Return a row with the fields that a newer message may change."""
    return replace(
        known,
        version=new.version,
        state=new.state,
        block_number=new.block_number,
        block_hash=new.block_hash,
        block_time=new.block_time,
    )


def _refuse_twice(keys: Iterable[Hashable]) -> None:
    if twice := [key for key, count in Counter(keys).items() if count > 1]:
        raise ConstraintViolated(f"{twice} is there already")
