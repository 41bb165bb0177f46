"""Sequences of deposits for a swap, row by row, with the required place of every base unit.

The rows are those of docs/money.md. They are data: unit tests run them in memory, integration
tests on Postgres, and each of them for every funding method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from services.settler.tests.factories import (
    DEADLINE,
    DEPOSIT_ADDRESSES,
    HOUR,
    LATER,
    MINUTE,
    NOON,
    PAYOUT,
    PLENTY,
    REQUESTED,
    UNKNOWN_TOKEN,
)
from swap_chains.evm.deposit_addresses import deposit_address
from swap_chains.evm.memos import encode_memo
from swap_contracts.quoting import FundingMethod
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_settler.model.swap import FailReason
from swap_settler.settling.decide.requotes import RequoteRefusal

NUMBER: Final = 7
BY_NUMBER: Final = {"kind": "deposited", "sequence_number": NUMBER}
BY_MEMO: Final = {"sequence_number": None, "memo": "0x" + encode_memo(NUMBER).hex()}
ADDRESS: Final = deposit_address(
    DEPOSIT_ADDRESSES["factory"], DEPOSIT_ADDRESSES["init_code_hash"], NUMBER
)
BY_ADDRESS: Final = {"sequence_number": None, "to_address": ADDRESS}
# The form in which each method's deposits are published. A new method is one more line.
Way = FundingMethod | Literal["attached"]
METHODS: Final[Mapping[Way, Mapping[str, Any]]] = {
    "depository": BY_NUMBER,
    "direct": {**BY_MEMO, "kind": "token_transfer"},
    "deposit_address": {**BY_ADDRESS, "kind": "token_transfer"},
    "gasless": BY_NUMBER,
    # Without a memo, and attached by its sender right after its publication.
    "attached": {"kind": "token_transfer", "sequence_number": None},
}
HALF: Final = REQUESTED // 2
WORST_PPM: Final = 900_000  # below the slippage of any of these users
AFTER: Final = DEADLINE + HOUR
COST: Final = 190  # of a refund, at the fee of the chain in memory
OTHER_RECEIVER: Final = "0x" + "77" * 20
# Why a deposit that is not the swap's cannot occur with a method.
BY_SIGNATURE: Final = "its signature names the token, the Paymaster and the swap; nothing else fits"
BY_ATTACHING: Final = "only what the Treasury got of the swap's own token is ever attached"
NOT_FOLLOWED: Final = "of tokens that are in no catalogue only the Depository's log is looked at"
UNWATCHED_RECEIVER: Final = "transfers to other receivers are not watched: no fact is published"
NO_CONTRACT: Final = "the user's transfer is the deposit: there is no contract between to be false"


@dataclass(frozen=True)
class DepositEvent:
    """One deposit fact: seen, confirmed or reverted."""

    units: int = REQUESTED
    at: datetime = NOON + MINUTE
    state: str = "confirmed"
    nth: int = 0
    after: str | None = None  # due ones "signed" or "paid", broadcast ones "dead"
    overrides: Mapping[str, Any] = field(default_factory=dict)  # differences from the method's form


@dataclass(frozen=True)
class Row:
    """The facts of a swap, and the place of the money at the end."""

    name: str
    events: tuple[DepositEvent, ...]
    paid: int = 0  # to the recipient, of the destination token
    main: int = 0  # refunded from the main leg, including the refund's cost
    own: tuple[int, ...] = ()  # refunded from separate legs, likewise
    reason: FailReason | None = None
    status: Status | None = None  # if neither payment nor refund ends it
    share_ppm: int | None = None  # the quoter's offer, if it differs from the one before
    refused: RequoteRefusal | None = None
    payment_dies: bool = False  # whether the broadcast payment is proven dead in the end
    is_over: bool = False  # whether the deadline passes in the end
    quoter_is_unavailable: bool = False  # whether it waits for an absent quoter without a limit
    revision: int = 0
    loss: int = 0  # the service's
    suspended: int = 0  # without an owner, until one is proven
    liquidity: int = PLENTY
    not_by: Mapping[Way, str] = field(default_factory=dict)  # why it cannot occur with a method


def at_once(*units: int, **more: Any) -> tuple[DepositEvent, ...]:
    return tuple(DepositEvent(sum_, nth=nth, **more) for nth, sum_ in enumerate(units))


def seen_together(*units: int) -> tuple[DepositEvent, ...]:
    """Return deposits that were all seen before the first of them was final."""
    return at_once(*units, state="seen") + at_once(*units)


LATE: Final = {"at": LATER}

ROWS: Final = (
    Row("exactly what was asked for", at_once(REQUESTED), paid=PAYOUT),
    # Partial
    Row(
        "a part above the minimum is swapped for what it is worth",
        at_once(HALF),
        paid=PAYOUT // 2,
        revision=1,
    ),
    Row(
        "a part that is worth less than its share of the minimum",
        at_once(HALF),
        main=HALF,
        reason=FailReason.DEGRADED_QUOTE,
        share_ppm=WORST_PPM,
    ),
    Row(
        "parts that are seen before one of them is final add up",
        seen_together(HALF, HALF),
        paid=PAYOUT,
    ),
    Row(
        "a part below the minimum waits for the deadline",
        at_once(1000),
        main=1000,
        reason=FailReason.RECEIVED_LESS,
        refused=RequoteRefusal.BELOW_MINIMUM,
        is_over=True,
    ),
    Row(
        "a part that nobody can price waits for the deadline",
        at_once(HALF),
        main=HALF,
        reason=FailReason.RECEIVED_LESS,
        refused=RequoteRefusal.NO_ANSWER,
        is_over=True,
    ),
    Row(
        "the rest of a part goes back when the part was swapped",
        at_once(HALF, HALF),
        paid=PAYOUT // 2,
        own=(HALF,),
        revision=1,
    ),
    # More than requested
    Row(
        "more than was asked for is swapped where limits allow it",
        at_once(3 * REQUESTED),
        paid=3 * PAYOUT,
        revision=1,
    ),
    Row(
        "of more than the maximum the rest goes back",
        at_once(3 * REQUESTED),
        paid=PAYOUT,
        own=(2 * REQUESTED,),
        refused=RequoteRefusal.ABOVE_MAXIMUM,
    ),
    Row(
        "of more than can be paid the rest goes back",
        at_once(3 * REQUESTED),
        paid=PAYOUT,
        own=(2 * REQUESTED,),
        liquidity=2 * PAYOUT,
    ),
    Row(
        "of more than can be priced the rest goes back, and nobody waits",
        at_once(3 * REQUESTED),
        paid=PAYOUT,
        own=(2 * REQUESTED,),
        refused=RequoteRefusal.NO_ANSWER,
    ),
    Row(
        "more is never worth less than what was promised",
        at_once(REQUESTED + 1000),
        paid=PAYOUT,
        own=(1000,),
        share_ppm=995_000,
    ),
    Row(
        "of more than can be priced a rest that is not worth its refund is claimable",
        at_once(REQUESTED + COST),
        paid=PAYOUT,
        own=(COST,),
        refused=RequoteRefusal.NO_ANSWER,
    ),
    # Outside the maximum
    Row(
        "a late deposit above the maximum",
        at_once(3 * REQUESTED, **LATE),
        main=3 * REQUESTED,
        reason=FailReason.RECEIVED_MORE,
        refused=RequoteRefusal.ABOVE_MAXIMUM,
    ),
    # A second deposit, after the first was accepted
    Row(
        "a second deposit", at_once(REQUESTED, 5000), paid=PAYOUT, own=(5000,)
    ),
    Row(
        "a second deposit after the end of the first one's swap",
        (DepositEvent(), DepositEvent(5000, at=AFTER, nth=1)),
        paid=PAYOUT,
        own=(5000,),
    ),
    # Dust from a third party
    Row(
        "dust alone moves nothing by itself",
        at_once(1),
        status=Status.DEPOSIT_PENDING,
    ),
    Row(
        "dust before the money counts",
        at_once(1, REQUESTED),
        paid=(REQUESTED + 1) * 998_000 // 1_000_000,
        revision=1,
    ),
    # After the quote has expired
    Row(
        "a late deposit is swapped for what it is worth now",
        at_once(REQUESTED, **LATE),
        paid=995_000,
        share_ppm=995_000,
        revision=1,
    ),
    Row(
        "a late deposit that is worth less than the minimum",
        at_once(REQUESTED, **LATE),
        main=REQUESTED,
        reason=FailReason.DEGRADED_QUOTE,
        share_ppm=WORST_PPM,
    ),
    Row(
        "a late deposit that nobody can price",
        at_once(REQUESTED, **LATE),
        main=REQUESTED,
        reason=FailReason.ROUTE_UNAVAILABLE,
        refused=RequoteRefusal.NO_ANSWER,
        quoter_is_unavailable=True,
    ),
    Row(
        "a late deposit that cannot be paid",
        at_once(REQUESTED, **LATE),
        main=REQUESTED,
        reason=FailReason.INSUFFICIENT_LIQUIDITY,
        liquidity=PAYOUT - 1,
    ),
    Row(
        "a late deposit below a minimum that rose",
        at_once(REQUESTED, **LATE),
        main=REQUESTED,
        reason=FailReason.RECEIVED_LESS,
        refused=RequoteRefusal.BELOW_MINIMUM,
    ),
    Row(
        "an on-time deposit that cannot be paid",
        at_once(REQUESTED),
        main=REQUESTED,
        reason=FailReason.INSUFFICIENT_LIQUIDITY,
        liquidity=PAYOUT - 1,
    ),
    # After the deadline
    Row("nothing came", (), status=Status.EXPIRED, is_over=True),
    Row(
        "a deposit after the swap has expired",
        (DepositEvent(at=AFTER),),
        own=(REQUESTED,),
        status=Status.EXPIRED,
    ),
    Row(
        "deposits after the swap has expired, one of them not worth its refund",
        (
            DepositEvent(at=AFTER),
            DepositEvent(7000, at=AFTER, nth=1),
            DepositEvent(COST, at=AFTER, nth=2),
        ),
        own=(REQUESTED, 7000, COST),
        status=Status.EXPIRED,
    ),
    # Reorgs after something was signed
    Row(
        "a deposit that a reorg takes while its payout is out is our loss",
        (DepositEvent(), DepositEvent(state="reverted", after="signed")),
        paid=PAYOUT,
        loss=REQUESTED,
    ),
    Row(
        "a deposit that a reorg takes after its payout is our loss",
        (DepositEvent(), DepositEvent(state="reverted", after="paid")),
        paid=PAYOUT,
        loss=REQUESTED,
    ),
    Row(
        "a deposit that a reorg takes after its payout, and gives back, is no second credit",
        (DepositEvent(), DepositEvent(state="reverted", after="paid"), DepositEvent()),
        paid=PAYOUT,
    ),
    Row(
        "a part that was swapped, and taken by a reorg after its payout, is our loss",
        (DepositEvent(HALF), DepositEvent(HALF, state="reverted", after="paid")),
        paid=PAYOUT // 2,
        revision=1,
        loss=HALF,
    ),
    Row(
        "a deposit that a reorg takes while its payout is out, which then dies, is nobody's loss",
        (DepositEvent(), DepositEvent(state="reverted", after="signed")),
        status=Status.DEPOSIT_PENDING,
        payment_dies=True,
    ),
    Row(
        "a deposit that a reorg takes while its payout is out, which then dies, and gives back",
        (
            DepositEvent(),
            DepositEvent(state="reverted", after="signed"),
            DepositEvent(after="dead"),
        ),
        paid=PAYOUT,
    ),
    # Reorgs before anything was signed
    Row(
        "a deposit that a reorg takes and gives back is one deposit",
        (DepositEvent(), DepositEvent(state="reverted"), DepositEvent()),
        paid=PAYOUT,
    ),
    Row(
        "a deposit that a reorg takes for good",
        (DepositEvent(), DepositEvent(state="reverted")),
        status=Status.DEPOSIT_PENDING,
    ),
    Row(
        "a part that a reorg leaves alone is swapped for what it is worth",
        (*seen_together(HALF)[:1], DepositEvent(HALF, state="seen", nth=1), DepositEvent(HALF),
         DepositEvent(HALF, state="reverted", nth=1)),
        paid=PAYOUT // 2,
        revision=1,
    ),
    Row(
        "a part that was swapped, and taken by a reorg before it was paid for",
        (DepositEvent(HALF), DepositEvent(HALF, state="reverted"), DepositEvent(HALF)),
        paid=PAYOUT // 2,
        revision=1,
    ),
    # Another token, another receiver, another Depository
    Row(
        "another token of the catalogue",
        (DepositEvent(overrides={"token": NATIVE}),),
        status=Status.DEPOSIT_PENDING,
        suspended=REQUESTED,
        not_by={"gasless": BY_SIGNATURE, "attached": BY_ATTACHING},
    ),
    Row(
        "another token of the catalogue, beside the right one",
        (DepositEvent(overrides={"token": NATIVE}), DepositEvent(nth=1)),
        paid=PAYOUT,
        suspended=REQUESTED,
        not_by={"gasless": BY_SIGNATURE, "attached": BY_ATTACHING},
    ),
    Row(
        "a token that is in no catalogue",
        (DepositEvent(overrides={"token": UNKNOWN_TOKEN, "quarantine_reason": "unknown_token"}),),
        status=Status.DEPOSIT_PENDING,
        not_by={
            "direct": NOT_FOLLOWED,
            "deposit_address": NOT_FOLLOWED,
            "gasless": BY_SIGNATURE,
            "attached": BY_ATTACHING,
        },
    ),
    Row(
        "the right token for another receiver",
        (
            DepositEvent(
                overrides={"to_address": OTHER_RECEIVER, "quarantine_reason": "foreign_receiver"}
            ),
        ),
        status=Status.DEPOSIT_PENDING,
        not_by={
            "direct": UNWATCHED_RECEIVER,
            "deposit_address": UNWATCHED_RECEIVER,
            "gasless": BY_SIGNATURE,
            "attached": BY_ATTACHING,
        },
    ),
    Row(
        "the right token by a false Depository that pays the Treasury",
        (DepositEvent(overrides={"kind": "token_transfer", "sequence_number": None}),),
        status=Status.DEPOSIT_PENDING,
        suspended=REQUESTED,
        not_by={
            "direct": NO_CONTRACT,
            "deposit_address": NO_CONTRACT,
            "gasless": BY_SIGNATURE,
            "attached": NO_CONTRACT,
        },
    ),
)  # fmt: skip
