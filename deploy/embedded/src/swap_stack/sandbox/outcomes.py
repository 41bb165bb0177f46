"""The table of magic addresses: each recipient selects an outcome of the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from swap_domain.rehearsals import REHEARSED

# Digits only, so that the address has no checksum case. In live it is refused.
PREFIX = REHEARSED


class SandboxOutcome(StrEnum):
    """The outcome of a swap."""

    COMPLETED = "completed"
    EXPIRED = "expired"
    PARTIAL = "partial"
    OVER = "over"
    LATE = "late"
    REORGED = "reorged"
    PAYOUT_FAILS = "payout_fails"
    REFUND_BELOW_COST = "refund_below_cost"
    GASLESS_EXPIRED = "gasless_expired"
    SLOW = "slow"
    WEBHOOK_FAILS = "webhook_fails"


@dataclass(frozen=True, slots=True)
class OutcomeDescription:
    """The description of one magic address."""

    number: int
    does: str
    ends: str
    needs: str = ""
    # What a form can check of it.
    gasless: bool | None = None  # None: either
    source_token: str = ""
    amount_min: int = 0
    destination_tokens: tuple[str, ...] = ()
    refund_address: bool = False

    @property
    def digits(self) -> str:
        return f"{self.number:03}"

    @property
    def address(self) -> str:
        return PREFIX + self.digits


PARTIAL_PERCENT = 60
OVER_PERCENT = 150
BELOW_COST_BASE_UNITS = 1
# A deposit of this size needs more blocks; `swap_stack.catalogue` has the tier.
SLOW_TOKEN, SLOW_AMOUNT = "DAI", 10_000
SLOW_NEEDS = f"{SLOW_AMOUNT:,} {SLOW_TOKEN} or more"

OUTCOME_DESCRIPTIONS: dict[SandboxOutcome, OutcomeDescription] = {
    SandboxOutcome.COMPLETED: OutcomeDescription(
        1, "pays the requested amount and method", "`completed`"
    ),
    SandboxOutcome.EXPIRED: OutcomeDescription(2, "pays nothing", "`expired` at the deadline"),
    SandboxOutcome.PARTIAL: OutcomeDescription(
        3,
        f"pays {PARTIAL_PERCENT} % of the requested amount",
        "`completed` for what that is worth, `quote_revision` 1",
        "not gasless; the part is above the minimum and fixed fees are small: 0.1 ETH, 1,000 USDC",
        gasless=False,
    ),
    SandboxOutcome.OVER: OutcomeDescription(
        4,
        f"pays {OVER_PERCENT} % of the requested amount",
        "`completed` for what that is worth, `quote_revision` 1",
        "not gasless; the amount is below the route's maximum",
        gasless=False,
    ),
    SandboxOutcome.LATE: OutcomeDescription(
        5,
        "pays once the swap has expired",
        "`expired`, with a `refund`",
        "`refund_address`, not gasless",
        gasless=False,
        refund_address=True,
    ),
    SandboxOutcome.REORGED: OutcomeDescription(
        6,
        "pays, removes the block by a reorg before the deposit is final, pays again",
        "the `input` appears, disappears and appears again; `completed`",
        f"{SLOW_NEEDS}, not gasless",
        gasless=False,
        source_token=SLOW_TOKEN,
        amount_min=SLOW_AMOUNT,
    ),
    SandboxOutcome.PAYOUT_FAILS: OutcomeDescription(
        7,
        "pays; the recipient refuses coins and is blocked by USDC",
        "`refunded` (`destination_unavailable`); `failed` without a refund address",
        "the destination's own coin or USDC, `refund_address`",
        destination_tokens=("ETH", "POL", "USDC"),
        refund_address=True,
    ),
    SandboxOutcome.REFUND_BELOW_COST: OutcomeDescription(
        8,
        f"pays {BELOW_COST_BASE_UNITS} base unit",
        "`failed` (`refund_below_cost`) at the deadline, claimable",
        "`refund_address`, not gasless",
        gasless=False,
        refund_address=True,
    ),
    SandboxOutcome.GASLESS_EXPIRED: OutcomeDescription(
        9,
        "signs, and submits too late for a broadcast",
        "400 `AUTHORIZATION_EXPIRED` for the sandbox; the authorization is `Expired`, and so is "
        "the swap, at the deadline",
        "`use_gasless`",
        gasless=True,
    ),
    SandboxOutcome.SLOW: OutcomeDescription(
        10,
        "pays; the deposit is final some blocks later",
        "`input` with 0, 1, 2… of `max_confirmations` for seconds, then `completed`",
        SLOW_NEEDS,
        source_token=SLOW_TOKEN,
        amount_min=SLOW_AMOUNT,
    ),
    SandboxOutcome.WEBHOOK_FAILS: OutcomeDescription(
        11,
        "pays; the sandbox's receivers answer 500 to the first attempt of each message",
        "`completed`; every message is sent again after 5 s, with the same id and bytes",
        "an endpoint with a receiver of the sandbox; yours answers as it does",
    ),
}
BY_ADDRESS = {meaning.address: outcome for outcome, meaning in OUTCOME_DESCRIPTIONS.items()}


def find_outcome(destination_address: str) -> SandboxOutcome | None:
    """Return the outcome of a recipient; None for an ordinary address."""
    return BY_ADDRESS.get(destination_address.lower())
