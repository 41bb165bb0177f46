"""What a swap's recipient makes the sandbox do: the one table of magic addresses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from swap_domain.rehearsals import REHEARSED

# Digits alone: such an address has no upper and lower case to get wrong. In live it is refused.
PREFIX = REHEARSED


class Outcome(StrEnum):
    """What is to become of a swap."""

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
class Meaning:
    """What one magic address means, for its readers."""

    number: int
    does: str
    ends: str
    needs: str = ""

    @property
    def digits(self) -> str:
        return f"{self.number:03}"

    @property
    def address(self) -> str:
        return PREFIX + self.digits


PARTIAL_PERCENT = 60
OVER_PERCENT = 150
BELOW_COST_BASE_UNITS = 1
# A deposit of so many whole DAI counts some blocks later; `swap_stack.catalogue` says so.
SLOW_NEEDS = "10,000 DAI or more"

MEANINGS: dict[Outcome, Meaning] = {
    Outcome.COMPLETED: Meaning(1, "pays what is asked, in whatever way is asked", "`completed`"),
    Outcome.EXPIRED: Meaning(2, "pays nothing", "`expired` at the deadline"),
    Outcome.PARTIAL: Meaning(
        3,
        f"pays {PARTIAL_PERCENT} % of what is asked",
        "`completed` for what that is worth, `quote_revision` 1",
        "not gasless; that part is above the minimum, and fixed fees hardly weigh: 0.1 ETH, "
        "1,000 USDC",
    ),
    Outcome.OVER: Meaning(
        4,
        f"pays {OVER_PERCENT} % of what is asked",
        "`completed` for what that is worth, `quote_revision` 1",
        "not gasless; that much is below the route's maximum",
    ),
    Outcome.LATE: Meaning(
        5,
        "pays once the swap has expired",
        "`expired`, with a `refund`",
        "`refund_address`, not gasless",
    ),
    Outcome.REORGED: Meaning(
        6,
        "pays, has the chain take the block back while the deposit is not final, pays again",
        "the `input` appears, is gone, appears again; `completed`",
        f"{SLOW_NEEDS}, not gasless",
    ),
    Outcome.PAYOUT_FAILS: Meaning(
        7,
        "pays; the recipient refuses coins and is blocked by USDC",
        "`refunded` (`destination_unavailable`); `failed` without a refund address",
        "the destination's own coin or USDC, `refund_address`",
    ),
    Outcome.REFUND_BELOW_COST: Meaning(
        8,
        f"pays {BELOW_COST_BASE_UNITS} base unit",
        "`failed` (`refund_below_cost`) at the deadline, claimable",
        "`refund_address`, not gasless",
    ),
    Outcome.GASLESS_EXPIRED: Meaning(
        9,
        "signs, and submits when it is too late to be broadcast",
        "400 `AUTHORIZATION_EXPIRED` for the sandbox; the authorization is `Expired`, and so is "
        "the swap, at the deadline",
        "`use_gasless`",
    ),
    Outcome.SLOW: Meaning(
        10,
        "pays; the deposit counts some blocks later",
        "`input` with 0, 1, 2… of `max_confirmations` for seconds, then `completed`",
        SLOW_NEEDS,
    ),
    Outcome.WEBHOOK_FAILS: Meaning(
        11,
        "pays; its webhook receiver answers 500 to the first attempt of each message",
        "`completed`; every message comes again after 5 s, with the same id and bytes",
    ),
}
BY_ADDRESS = {meaning.address: outcome for outcome, meaning in MEANINGS.items()}


def meant_by(destination_address: str) -> Outcome | None:
    """Return what a recipient stands for; None where it is one like any other."""
    return BY_ADDRESS.get(destination_address.lower())
