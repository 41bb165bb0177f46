"""A swap for every outcome of the sandbox; its partner only creates it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from swap_stack.sandbox.outcomes import OUTCOME_DESCRIPTIONS, SandboxOutcome
from tests.e2e.outside import Partner, Route, new_address
from tests.support.waiting import until

COIN: Final = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.1")
TOKEN: Final = Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "USDC", "40")
THOUSANDS: Final = Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "USDC", "4000")
# On a separate chain, because a reorg delays every swap with a deposit in that block.
LARGE_ROUTE: Final = Route("POLYGON_DEVNET", "DAI", "BASE_DEVNET", "USDC", "12000")
SMALL_ROUTE: Final = Route("POLYGON_DEVNET", "DAI", "BASE_DEVNET", "USDC", "25")
SIGNED: Final = {"use_depository": False, "use_gasless": True}
DIRECT: Final = {"use_depository": False}
ADDRESS: Final = {"use_depository": False, "use_deposit_address": True}
WITHIN_SECONDS: Final = 150


@dataclass(frozen=True)
class Case:
    """A partner's request, and the end that it reads."""

    name: str
    outcome: SandboxOutcome
    status: str
    transactions: tuple[str, ...]
    route: Route = COIN
    reason: str | None = None
    revision: int = 0
    is_short_lived: bool = False  # of an app with short-lived swaps, so that a test need not wait
    is_refundable: bool = True
    options: Mapping[str, object] | None = None


PAID = ("input", "output")
CASES: Final = (
    Case("a coin", SandboxOutcome.COMPLETED, "completed", PAID),
    Case(
        "a token through the Depository", SandboxOutcome.COMPLETED, "completed", PAID, route=TOKEN
    ),
    Case(
        "a direct transfer",
        SandboxOutcome.COMPLETED,
        "completed",
        PAID,
        route=TOKEN,
        options=DIRECT,
    ),
    Case("a deposit address", SandboxOutcome.COMPLETED, "completed", PAID, options=ADDRESS),
    Case("a signature", SandboxOutcome.COMPLETED, "completed", PAID, route=TOKEN, options=SIGNED),
    Case(
        "a deposit address without an amount",
        SandboxOutcome.COMPLETED,
        "completed",
        PAID,
        revision=1,
        options={**ADDRESS, "amount": None},
    ),
    Case(
        "a signature is for all of it",
        SandboxOutcome.PARTIAL,
        "completed",
        PAID,
        route=TOKEN,
        options=SIGNED,
    ),
    Case("expiry", SandboxOutcome.EXPIRED, "expired", (), is_short_lived=True),
    Case("a part", SandboxOutcome.PARTIAL, "completed", PAID, revision=1),
    Case(
        "a part of a token", SandboxOutcome.PARTIAL, "completed", PAID, route=THOUSANDS, revision=1
    ),
    Case("more", SandboxOutcome.OVER, "completed", PAID, revision=1),
    Case("more of a token", SandboxOutcome.OVER, "completed", PAID, route=TOKEN, revision=1),
    Case("late", SandboxOutcome.LATE, "expired", ("input", "refund"), is_short_lived=True),
    Case("a reorg", SandboxOutcome.REORGED, "completed", PAID, route=LARGE_ROUTE),
    Case(
        "a reorg of what counts at once",
        SandboxOutcome.REORGED,
        "completed",
        PAID,
        route=SMALL_ROUTE,
    ),
    Case(
        "a payout that fails",
        SandboxOutcome.PAYOUT_FAILS,
        "refunded",
        ("input", "refund"),
        reason="destination_unavailable",
    ),
    Case(
        "a payout of a token that fails",
        SandboxOutcome.PAYOUT_FAILS,
        "refunded",
        ("input", "refund"),
        route=TOKEN,
        reason="destination_unavailable",
    ),
    Case(
        "a payout that fails and has nowhere to go back to",
        SandboxOutcome.PAYOUT_FAILS,
        "failed",
        ("input",),
        reason="destination_unavailable",
        is_refundable=False,
    ),
    Case(
        "a refund below its cost",
        SandboxOutcome.REFUND_BELOW_COST,
        "failed",
        ("input",),
        reason="refund_below_cost",
        is_short_lived=True,
    ),
    Case(
        "a signature that came too late",
        SandboxOutcome.GASLESS_EXPIRED,
        "expired",
        (),
        route=TOKEN,
        is_short_lived=True,
        options=SIGNED,
    ),
    Case("slow confirmation", SandboxOutcome.SLOW, "completed", PAID, route=LARGE_ROUTE),
    Case("a webhook that fails", SandboxOutcome.WEBHOOK_FAILS, "completed", PAID),
)


@dataclass(frozen=True)
class PlayedSwap:
    """A swap from its creation to its end, as its partner reads it."""

    created: Mapping[str, Any]  # the answer to its creation
    seen: list[Mapping[str, Any]]
    authorization: str | None  # the status of the signature, if one was required

    @property
    def last(self) -> Mapping[str, Any]:
        return self.seen[-1]

    def inputs(self) -> list[tuple[int, int] | None]:
        """Return the deposit's confirmations, each change once; None where it was removed."""
        changes: list[tuple[int, int] | None] = []
        for swap in self.seen:
            found = [t for t in swap["transactions"] if t["type"] == "input"]
            now = (found[0]["confirmations"], found[0]["max_confirmations"]) if found else None
            if not changes or changes[-1] != now:
                changes.append(now)
        return changes


async def play(partner: Partner, case: Case) -> PlayedSwap:
    options = dict(case.options or {})
    if case.is_refundable:
        options["refund_address"] = new_address()
    recipient = OUTCOME_DESCRIPTIONS[case.outcome].address
    prepared = await partner.create(case.route, recipient, **options)
    swap_id = prepared["swap"]["id"]
    seen: list[Mapping[str, Any]] = []

    async def is_over() -> bool:
        swap = (await partner.read(swap_id))["swap"]
        if not seen or swap != seen[-1]:
            seen.append(swap)
        done = [t["type"] for t in swap["transactions"] if t["status"] == "completed"]
        return swap["status"] == case.status and tuple(done) == case.transactions

    try:
        await until(is_over, what=f"{case.name}: {swap_id}", within=WITHIN_SECONDS)
    except AssertionError as late:
        raise AssertionError(f"{late}: {seen[-1]}") from None
    if not options.get("use_gasless"):
        return PlayedSwap(prepared, seen, None)
    return PlayedSwap(prepared, seen, (await partner.get(f"/swaps/{swap_id}/authorize"))["status"])
