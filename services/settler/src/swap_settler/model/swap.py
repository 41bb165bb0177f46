"""A swap as the settler decides about it: what was agreed, what came in, what goes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from swap_domain.lifecycle import Status, Trigger, next_status
from swap_domain.money import Asset
from swap_settler.model.authorization import Authorization


class Method(StrEnum):
    """How value came, or was announced to come."""

    DIRECT = "direct"
    DEPOSIT_ADDRESS = "deposit_address"
    DEPOSITORY = "depository"
    GASLESS = "gasless"
    FUNDING = "funding"  # from the owner: never a swap's


class DepositState(StrEnum):
    SEEN = "seen"
    CREDITED = "credited"  # final under its tier; booked to a swap or in suspense
    REVERTED = "reverted"
    QUARANTINED = "quarantined"


class IntentKind(StrEnum):
    OUTPUT = "output"
    REFUEL = "refuel"
    REFUND = "refund"
    CLAIM = "claim"  # what waited for its owner, paid by an operator's order
    SWEEP = "sweep"
    GASLESS = "gasless"
    CANCEL = "cancel"
    PARTNER_FEE = "partner_fee"  # what an app's fees added up to, paid by an operator's order


class IntentState(StrEnum):
    RESERVED = "reserved"  # waits for the sender lane
    ASSIGNED = "assigned"  # has a nonce slot
    BROADCAST = "broadcast"
    MINED = "mined"
    CONFIRMED = "confirmed"  # final under the network's policy
    DEAD = "dead"


class FailReason(StrEnum):
    RECEIVED_LESS = "received_less_than_valid_range"
    RECEIVED_MORE = "received_more_than_valid_range"
    DEGRADED_QUOTE = "degraded_quote"
    ROUTE_UNAVAILABLE = "swap_route_unavailable"
    INSUFFICIENT_LIQUIDITY = "insufficient_liquidity"
    DESTINATION_UNAVAILABLE = "destination_unavailable"
    REFUND_BELOW_COST = "refund_below_cost"
    REJECTED_BY_POLICY = "rejected_by_policy"


SWEPT_WITHOUT_SWAP: Final = "swept_for_nobody"  # a sweep of an address without a swap
Leg = UUID | None  # a deposit that stands on its own; None is the swap's main leg


def match_key(network: str, token: str, sequence_number: int) -> str:
    """Return what a deposit and a swap must share: another network or token never matches."""
    return f"{network}/{token}/{sequence_number}"


@dataclass(frozen=True, slots=True)
class Deposit:
    """What was decided about one movement of value to us, and the newest fact about it."""

    id: UUID
    swap_id: UUID | None
    version: int
    state: DepositState
    method: Method
    network: str
    token: str
    base_units: int
    returned_base_units: int  # what stands on the deposit's own leg
    is_booked: bool  # its value stands in the ledger, also while a reorg has taken it away
    transaction_hash: str | None
    block_number: int
    block_hash: str
    block_time: datetime
    from_address: str | None
    to_address: str
    confirmations_required: int
    sequence_number: int | None
    memo: str | None
    quarantine_reason: str | None
    received_at: datetime
    attached_at: datetime | None = None  # it counts from then: earlier, it would suit any quote
    came_after: datetime | None = None  # of coins from an unknown block: before all possible blocks

    @property
    def came_at(self) -> datetime:
        return self.attached_at or min(self.came_after or self.block_time, self.received_at)

    @property
    def match_key(self) -> str | None:
        if self.sequence_number is None or self.quarantine_reason or self.method is Method.FUNDING:
            return None
        return match_key(self.network, self.token, self.sequence_number)

    @property
    def may_find_a_swap(self) -> bool:
        """Whether a swap may still come for it: one of its number, or one that has its address."""
        is_free = self.method is not Method.DEPOSIT_ADDRESS  # else its address has its swap
        is_named = self.match_key is not None and is_free
        return is_named or self.quarantine_reason == SWEPT_WITHOUT_SWAP

    @property
    def is_live(self) -> bool:
        return self.state in (DepositState.SEEN, DepositState.CREDITED)

    @property
    def main_base_units(self) -> int:
        """What of it stands on the swap's main leg."""
        return self.base_units - self.returned_base_units

    @property
    def is_split(self) -> bool:
        """Whether a part of it is the swap's and the rest goes back."""
        return 0 < self.returned_base_units < self.base_units


@dataclass(frozen=True, slots=True)
class Intent:
    """One payment: why value leaves, not yet how."""

    id: UUID
    paid_id: int | None  # what the Treasury accepts once
    swap_id: UUID | None
    deposit_id: UUID | None  # None: the swap's main leg
    kind: IntentKind
    network: str
    token: str
    to_address: str
    base_units: int
    charged_base_units: int
    usd_micros: int | None  # None: it has no price, and waits before every cap in dollars
    state: IntentState
    due_at: datetime
    created_at: datetime
    slot_at: datetime | None = None
    transaction_hash: str | None = None
    block_number: int | None = None
    block_hash: str | None = None
    block_time: datetime | None = None
    version: int = 0
    confirmed_at: datetime | None = None
    payer: str | None = None  # of a gasless deposit: who signed
    call_data: bytes | None = None  # of a gasless deposit: the Paymaster's call
    not_after: datetime | None = None  # nothing is signed for it from then on
    dead_proof: str | None = None  # JSON; what is stored adds every slot, and what consumed it
    app_id: UUID | None = None  # of a partner's fee: the app
    attempts: frozenset[str] = frozenset()  # hashes of what was signed to pay it; never saved here
    has_open_attempt: bool = False  # one of them may pay it, or has: its nonce is not dead

    @property
    def is_live(self) -> bool:
        return self.state is not IntentState.DEAD

    @property
    def has_left(self) -> bool:
        return self.state in (IntentState.BROADCAST, IntentState.MINED, IntentState.CONFIRMED)

    @property
    def is_revocable(self) -> bool:
        """Whether nothing that was signed can pay it: it has no attempt, or only dead ones."""
        unsent = (IntentState.RESERVED, IntentState.ASSIGNED)
        return self.state in unsent and not self.has_open_attempt

    def as_dead(self, because: str, *, failures: int | None = None) -> Intent:
        """Return it dead, with the reason and the counts that an operator needs."""
        counts = {"attempts": len(self.attempts), "failures": failures}
        known_counts = {name: count for name, count in counts.items() if count is not None}
        proof = json.dumps({"because": because, **known_counts})
        return replace(self, state=IntentState.DEAD, dead_proof=proof)


@dataclass(frozen=True, slots=True)
class Terms:
    """What was agreed at creation."""

    sequence_number: int
    app_id: UUID
    method: Method
    source: Asset
    destination: Asset
    source_address: str | None
    destination_address: str
    refund_address: str | None
    reference_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Refuel:
    """Some of the destination's own coin beside the output, as it was quoted."""

    base_units: int
    charged_base_units: int  # source
    usd_e18: int

    @classmethod
    def of(cls, quote: Mapping[str, str | None]) -> Refuel | None:
        base_units, charged = quote["refuel_base_units"], quote["refuel_in_source_base_units"]
        usd_e18 = quote["destination_native_usd_e18"]
        if base_units is None or charged is None or usd_e18 is None:
            return None
        return cls(int(base_units), int(charged), int(usd_e18))


@dataclass(frozen=True, slots=True)
class QuoteTerms:
    """The part of the quote that decides; the rest of it is carried along as it came."""

    document: str  # the contract's Quote as JSON
    requested_base_units: int  # source
    payout_base_units: int  # destination
    min_payout_base_units: int  # destination
    fee_base_units: int  # source; all of it
    slippage_ppm: int
    source_usd_e18: int
    destination_usd_e18: int
    source_native_usd_e18: int
    expires_at: datetime
    refuel: Refuel | None = None
    spent_on_refuel: int = 0  # source; on one that cannot be sent, and is claimable
    revision: int = 0
    last_requoted_at: datetime | None = None
    locked_at: datetime | None = None

    @classmethod
    def of(cls, document: str, *, expires_at: datetime) -> QuoteTerms:
        """Return the terms that a quote's document has."""
        quote = json.loads(document)
        return cls(
            document=document,
            requested_base_units=int(quote["requested_base_units"]),
            payout_base_units=int(quote["receive_base_units"]),
            min_payout_base_units=int(quote["min_receive_base_units"]),
            fee_base_units=int(quote["total_fee_base_units"]),
            slippage_ppm=int(quote["slippage_ppm"]),
            source_usd_e18=int(quote["source_usd_e18"]),
            destination_usd_e18=int(quote["destination_usd_e18"]),
            source_native_usd_e18=int(quote["source_native_usd_e18"]),
            expires_at=expires_at,
            refuel=Refuel.of(quote),
            spent_on_refuel=_spent_on_refuel(quote),
        )

    @property
    def swapped_base_units(self) -> int:
        """What buys the payout: the requested amount less the price of a refuel."""
        charged = self.spent_on_refuel if self.refuel is None else self.refuel.charged_base_units
        return self.requested_base_units - charged

    def without_refuel(self) -> QuoteTerms:
        """Return what is left when no refuel is bought."""
        requested = self.swapped_base_units
        document = json.loads(self.document)
        document |= {"refuel_base_units": None, "refuel_in_source_base_units": None}
        document["requested_base_units"] = str(requested)
        return replace(
            self,
            document=json.dumps(document),
            requested_base_units=requested,
            refuel=None,
            spent_on_refuel=0,
        )

    def with_refuel_claimable(self) -> QuoteTerms:
        """Return it bought and not sent: it is shown no more."""
        document = json.loads(self.document) | {"refuel_base_units": None}
        spent = self.requested_base_units - self.swapped_base_units
        return replace(self, document=json.dumps(document), refuel=None, spent_on_refuel=spent)


def _spent_on_refuel(quote: Mapping[str, str | None]) -> int:
    """A refuel that was bought and cannot be sent has a price, and no amount."""
    charged = quote["refuel_in_source_base_units"]
    return int(charged) if charged is not None and quote["refuel_base_units"] is None else 0


@dataclass(frozen=True, slots=True)
class Swap:
    id: UUID
    terms: Terms
    quote: QuoteTerms
    status: Status
    sequence: int
    expires_at: datetime
    changed_at: datetime
    fail_reason: FailReason | None = None
    closed_at: datetime | None = None
    deposits: Mapping[UUID, Deposit] = field(default_factory=dict)
    intents: Mapping[UUID, Intent] = field(default_factory=dict)  # all that are not dead
    authorization: Authorization | None = None  # the newest

    @property
    def match_key(self) -> str:
        source = self.terms.source
        return match_key(source.network, source.token, self.terms.sequence_number)

    @property
    def output(self) -> Intent | None:
        return next((i for i in self.intents.values() if i.kind is IntentKind.OUTPUT), None)

    @property
    def relay(self) -> Intent | None:
        """The live payment that sends the user's signed authorization to the chain."""
        return next((i for i in self.intents.values() if i.kind is IntentKind.GASLESS), None)

    @property
    def awaits_relay(self) -> bool:
        """Whether a signed authorization may still deposit."""
        return self.relay is not None and self.relay.state is not IntentState.CONFIRMED

    @property
    def refuel(self) -> Intent | None:
        return next((i for i in self.intents.values() if i.kind is IntentKind.REFUEL), None)

    def refund(self, leg: Leg) -> Intent | None:
        """The live refund of a leg."""
        refunds = (i for i in self.intents.values() if i.kind is IntentKind.REFUND)
        return next((i for i in refunds if i.deposit_id == leg), None)

    def claim(self, leg: Leg) -> Intent | None:
        """The live payment of what was claimable on a leg."""
        source = (self.terms.source.network, self.terms.source.token)
        claims = (i for i in self.intents.values() if i.kind is IntentKind.CLAIM)
        # What is claimable in another asset stands on no leg of what came in.
        return next(
            (i for i in claims if (i.network, i.token) == source and i.deposit_id == leg), None
        )

    def refund_of(self, leg: Leg) -> Intent | None:
        """What settles a leg by other means than a payout: there is never more than one."""
        return self.refund(leg) or self.claim(leg)

    @property
    def paying(self) -> Intent | None:
        """What settles the main leg: there is never more than one."""
        return self.output or self.refund_of(None)

    def is_paid_for(self, intent: Intent) -> bool:
        """Whether a payment settles what came in, on the leg that it names."""
        if intent.kind is IntentKind.CLAIM:
            source = self.terms.source
            return (intent.network, intent.token) == (source.network, source.token)
        return intent.kind in (IntentKind.OUTPUT, IntentKind.REFUND)

    @property
    def open_deposits(self) -> tuple[Deposit, ...]:
        """The deposits that are seen and not final."""
        return tuple(d for d in self.deposits.values() if d.state is DepositState.SEEN)

    @property
    def booked(self) -> tuple[Deposit, ...]:
        """The booked deposits with value on the main leg, also if a reorg removed them since."""
        return tuple(d for d in self.deposits.values() if d.is_booked and d.main_base_units)

    @property
    def reorged_out_deposits(self) -> tuple[Deposit, ...]:
        """Deposits of the main leg that a reorg removed while they are booked: no payout may be
        sent for them.
        """
        return tuple(d for d in self.booked if d.state is not DepositState.CREDITED)

    def reorged_out_of(self, leg: Leg) -> tuple[Deposit, ...]:
        """Deposits of a leg that a reorg removed while they are booked."""
        if leg is None:
            return self.reorged_out_deposits
        deposit = self.deposits[leg]
        is_reorged_out = deposit.is_booked and deposit.state is not DepositState.CREDITED
        return (deposit,) if is_reorged_out else ()

    @property
    def credited_base_units(self) -> int:
        """What the user has brought to the main leg, final under its tier."""
        return sum(d.main_base_units for d in self.booked if d.state is DepositState.CREDITED)

    @property
    def refundable_base_units(self) -> int:
        """What of the main leg can go back: not what a refuel was bought with."""
        live = 0 if self.refuel is None else self.refuel.charged_base_units
        return self.credited_base_units - max(live, self.quote.spent_on_refuel)

    @property
    def lacks_base_units(self) -> int:
        """What is missing of the requested sum."""
        return max(self.quote.requested_base_units - self.credited_base_units, 0)

    @property
    def is_open(self) -> bool:
        """Whether no sum was requested: the deposit decides how much it is."""
        return not self.quote.requested_base_units

    @property
    def asks_for_another_quote(self) -> bool:
        """Whether the credited sum is not what the quote is for: late, partial, or too large.

        Deposits that were seen on time and reach the sum lock the quote until all are final.
        """
        credited = self.credited_base_units
        if self.status is not Status.DEPOSIT_PENDING or not credited:
            return False
        return self.quote.locked_at is None or credited > self.quote.requested_base_units

    def on(self, at: datetime) -> Swap:
        """Return the swap after one more fact. Every fact spends one sequence."""
        return replace(self, sequence=self.sequence + 1, changed_at=at)

    def with_trigger(self, trigger: Trigger) -> Swap:
        """
        :raises IllegalTransition: when the status has no such edge.
        """
        return replace(self, status=next_status(self.status, trigger))

    def with_deposit(self, deposit: Deposit) -> Swap:
        return replace(self, deposits={**self.deposits, deposit.id: deposit})

    def with_intent(self, intent: Intent) -> Swap:
        intents = {**self.intents, intent.id: intent}
        return replace(self, intents={k: i for k, i in intents.items() if i.is_live})
