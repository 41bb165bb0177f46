"""The unit of work in memory. It passes the same suite as the one on Postgres."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from swap_domain.lifecycle import Status
from swap_runtime.outbox import Outgoing
from swap_settler.adapters.inventory_news import inventory_news
from swap_settler.batch_ports import OpenedDeposits, OpenedPayouts, OpenedRequests, PaymentKey
from swap_settler.domain.accounts import Account, AccountKind, LedgerTransaction
from swap_settler.domain.changes import Changes
from swap_settler.domain.inventory import AssetKey, Inventory, after, assets_moved
from swap_settler.domain.swap import Deposit, Intent, IntentState, Leg, Swap
from swap_settler.domain.sweeps import SweptFact, Unbooked
from swap_settler.domain.withdrawals import Withdrawal
from swap_settler.domain.work_due import WorkDue, work_due
from swap_settler.ports import DueRefund, DueRequote, Place

BOTH_WAYS = {AccountKind.EQUITY, AccountKind.POSITION}
DEBIT = {
    AccountKind.CUSTODY,
    AccountKind.GAS_EXPENSE,
    AccountKind.LOSS,
    AccountKind.PAYOUT_SUSPENSE,
}


class Refused(Exception):
    """What Postgres would refuse by a constraint."""


class FakeUnitOfWork:
    """Forgets everything that a failed transaction did."""

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
        self.refunds_due: dict[tuple[UUID, Leg], int] = {}
        self.dues = 0
        self.withdrawals: dict[UUID, Withdrawal] = {}
        self.withdrawals_booked: frozenset[UUID] = frozenset()
        self.numbers: dict[Place, int] = {}  # of deposit addresses
        self.swept: dict[UUID, SweptFact] = {}
        self.requotes_due: dict[UUID, timedelta] = {}  # with how long each has waited
        self.pauses: dict[int | UUID, timedelta] = {}  # of refunds and requotes that are put off
        self.completions_due: dict[UUID, datetime] = {}
        self.halted: dict[str, str] = {}
        self.sent: list[Outgoing] = []
        self.block_times: dict[str, datetime] = {}  # of networks of which everything was heard

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
        known = (d for d in self.deposits.values() if d.id in deposit_ids and d.attached_at)
        ids = {d.swap_id for d in known} | {
            s.id for s in self.swaps.values() if s.match_key in keys
        }
        swaps = map(self.swap, filter(None, ids))
        return OpenedDeposits(self._mark(message_ids), {swap.match_key: swap for swap in swaps})

    async def open_payouts(
        self, message_ids: Sequence[UUID], *, payments: Collection[PaymentKey]
    ) -> OpenedPayouts:
        asked = [
            ((i.network, i.paid_id), i)
            for i in self.intents.values()
            if i.is_live and i.paid_id and (i.network, i.paid_id) in payments
        ]
        return OpenedPayouts(
            self._mark(message_ids),
            owners={key: intent.swap_id for key, intent in asked if intent.swap_id},
            lone={key: intent.id for key, intent in asked if intent.swap_id is None},
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

    async def lock_keys(self, keys: Collection[str]) -> None:
        pass

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
        unsent = (IntentState.RESERVED, IntentState.ASSIGNED)
        relays = (i for i in self.intents.values() if i.not_after is not None)
        lapsed = [i for i in relays if i.state in unsent and i.not_after and i.not_after <= now]
        return [i.swap_id for i in lapsed if i.swap_id][:limit]

    async def reverted_relays(self, signers: Collection[str]) -> Mapping[str, int]:
        dead = [i for i in self.intents.values() if i.payer in signers and not i.is_live]
        return Counter(i.payer for i in dead if i.payer and i.attempts)

    async def unmatched_deposits(
        self, ids: Collection[UUID], match_keys: Collection[str]
    ) -> Mapping[UUID, Deposit]:
        return {
            d.id: d
            for d in sorted(self.deposits.values(), key=lambda d: (d.heard_at, d.id))
            if d.swap_id is None and (d.id in ids or d.match_key in match_keys)
        }

    async def keep_attachment(self, deposit_id: UUID, *, by: str, because: str) -> None:
        self.proofs[deposit_id] = (by, because)

    async def lone_of(self, deposit_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
        return {i.deposit_id: i.id for i in self._lone if i.deposit_id in deposit_ids}

    async def lock_lone(self, ids: Collection[UUID]) -> Mapping[UUID, Intent]:
        return {i.id: i for i in self._lone if i.id in ids}

    @property
    def _lone(self) -> Sequence[Intent]:
        return [i for i in self.intents.values() if i.is_live and i.swap_id is None]

    async def lock_inventory(self, assets: Collection[AssetKey]) -> Mapping[AssetKey, Inventory]:
        return {asset: self.inventory.setdefault(asset, Inventory(*asset)) for asset in assets}

    async def numbers_at(self, places: Collection[Place]) -> Mapping[Place, int]:
        return {place: self.numbers[place] for place in places if place in self.numbers}

    async def save_swept(self, swept: Sequence[SweptFact]) -> None:
        for one in swept:
            if one.id not in self.swept or self.swept[one.id].version < one.version:
                self.swept[one.id] = one

    async def save_withdrawn(self, withdrawn: Sequence[Withdrawal]) -> None:
        for one in withdrawn:
            if one.id not in self.withdrawals or self.withdrawals[one.id].version < one.version:
                self.withdrawals[one.id] = one

    async def lock_unbooked_withdrawals(self, *, limit: int) -> Sequence[Withdrawal]:
        final = [w for w in self.withdrawals.values() if w.state == "confirmed"]
        unbooked = [w for w in final if w.id not in self.withdrawals_booked]
        return sorted(unbooked, key=lambda w: (w.network, w.block_number, w.id))[:limit]

    async def mark_withdrawals_booked(self, ids: Sequence[UUID]) -> None:
        self.withdrawals_booked = self.withdrawals_booked | set(ids)

    async def has_unbooked(self) -> bool:
        return bool(await self.lock_unbooked_withdrawals(limit=1))

    async def take_over_swept(self, places: Collection[Place]) -> Sequence[Unbooked]:
        return ()

    async def postpone_refunds(self, ids: Sequence[int], *, pause: timedelta) -> None:
        self.pauses |= dict.fromkeys(ids, pause)

    async def drop_refunds_due(self, ids: Sequence[int]) -> None:
        self.refunds_due = {leg: id for leg, id in self.refunds_due.items() if id not in ids}

    async def settle_requotes_due(
        self, done: Sequence[UUID], again: Sequence[UUID], *, pause: timedelta
    ) -> None:
        self.requotes_due = {id: w for id, w in self.requotes_due.items() if id not in done}
        self.pauses |= dict.fromkeys(again, pause)

    async def lock_overdue(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        due = [id for id, due_at in self.completions_due.items() if due_at <= now]
        return [self.swap(id) for id in sorted(due)][:limit]

    async def refuels_in_doubt(self, swap_ids: Collection[UUID]) -> Collection[UUID]:
        return ()

    async def drop_completions_due(self, ids: Sequence[UUID]) -> None:
        self.completions_due = {
            id: due_at for id, due_at in self.completions_due.items() if id not in ids
        }

    async def due(self, network: str, *, limit: int) -> Sequence[DueRefund]:
        of_network = (
            DueRefund(id, swap_id, leg)
            for (swap_id, leg), id in self.refunds_due.items()
            if self.swaps[swap_id].terms.source.network == network and not self.pauses.get(id)
        )
        return list(of_network)[:limit]

    def wait(self, duration: timedelta) -> None:
        """Let time pass for what is due."""
        self.requotes_due = {id: waited + duration for id, waited in self.requotes_due.items()}
        left = {id: pause - duration for id, pause in self.pauses.items()}
        self.pauses = {id: pause for id, pause in left.items() if pause > timedelta(0)}

    async def flush(self, changes: Sequence[Changes], outgoing: Sequence[Outgoing]) -> None:
        for change in changes:
            self._save(change)
        self._save_due(work_due(changes))
        entries = [entry for change in changes for entry in change.ledger]
        touched = await self.lock_inventory(assets_moved(entries))
        moved = [new for row in touched.values() if (new := after(row, entries)) != row]
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
            if (swap.id, swap.sequence) in self.transitions:
                raise Refused(f"sequence {swap.sequence} of {swap.id} was spent")
            self.transitions[swap.id, swap.sequence] = (change.previous_status, swap.status)
            self.swaps[swap.id] = swap
        if change.target is not None:
            target = change.target
            self.numbers[target.network, target.address] = target.sequence_number
        self.deposits |= {deposit.id: deposit for deposit in change.deposits}
        self.intents |= {intent.id: intent for intent in change.intents}
        for entry in change.ledger:
            if entry.dedupe_key in self.ledger:
                raise Refused(f"{entry.dedupe_key} was booked")
            self.ledger[entry.dedupe_key] = entry
            for posting in entry.postings:
                self.balances[posting.account] += posting.base_units
        if change.halt is not None:
            known = self.halted.get(change.halt.network, "").split("; ")
            reasons = dict.fromkeys([*filter(None, known), change.halt.reason])
            self.halted[change.halt.network] = "; ".join(reasons)

    def _save_due(self, due: WorkDue) -> None:
        for refund in due.refunds:
            self.dues += 1
            self.refunds_due.setdefault((refund.swap_id, refund.leg), self.dues)
        self.requotes_due |= dict.fromkeys(due.requotes, timedelta(0))
        self.pauses = {id: pause for id, pause in self.pauses.items() if id not in due.requotes}
        self.completions_due = {**due.completions, **self.completions_due}

    def _check(self, account: Account, balance: int) -> None:
        is_wrong = balance < 0 if account.kind in DEBIT else balance > 0
        if is_wrong and account.kind not in BOTH_WAYS:
            raise Refused(f"{account} is at {balance}")

    def sign(self, intent_id: UUID, transaction_hash: str) -> None:
        """Do what the sender lane does: a slot, and signed bytes for it."""
        intent = self.intents[intent_id]
        attempts = intent.attempts | {transaction_hash}
        state = IntentState.ASSIGNED if intent.state is IntentState.RESERVED else intent.state
        self.intents[intent_id] = replace(
            intent, state=state, attempts=attempts, has_open_attempt=True
        )

    def close(self, intent_id: UUID) -> None:
        """Do what the lane does when a final block shows that nothing signed paid an intent."""
        self.intents[intent_id] = replace(self.intents[intent_id], has_open_attempt=False)

    def swap(self, id: UUID) -> Swap:
        """Return a swap as it would be loaded."""
        deposits = {d.id: d for d in self.deposits.values() if d.swap_id == id}
        intents = {i.id: i for i in self.intents.values() if i.swap_id == id and i.is_live}
        return replace(self.swaps[id], deposits=deposits, intents=intents)

    def balance(self, kind: AccountKind, **identity: object) -> int:
        """Return the sum over the accounts of a kind, of those with the given members."""
        return sum(
            balance
            for account, balance in self.balances.items()
            if account.kind is kind
            and all(getattr(account, name) == value for name, value in identity.items())
        )


class FakeRequotes:
    """The swaps that a unit of work in memory keeps as due."""

    def __init__(self, work: FakeUnitOfWork) -> None:
        self._work = work

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        waiting = self._work.requotes_due.items()
        due = [DueRequote(id, waited) for id, waited in waiting if id not in self._work.pauses]
        return due[:limit]


class FixedPrices:
    """Prices in dollars × 10^18 for one whole token; empty, as while the quoter is away."""

    def __init__(self, prices: Mapping[AssetKey, int] | None = None) -> None:
        self._prices = prices or {}

    async def current(self) -> Mapping[AssetKey, int]:
        return self._prices
