"""What of a demonstration went differently than its journeys say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from swap_stack.demo.books import AssetSum
from swap_stack.demo.follow import FollowedSwap


def list_faults(outcomes: Sequence[FollowedSwap], sums: Sequence[AssetSum]) -> tuple[str, ...]:
    """Return what should not be; nothing without a deviation."""
    faults = [
        f"{outcome.journey.title}: {fault}"
        for outcome in outcomes
        for check in CHECKS
        for fault in check(outcome)
    ]
    faults += [f"{s.token} on {s.network} sums to {s.total}" for s in sums if s.total != 0]
    return tuple(faults)


def _ending(outcome: FollowedSwap) -> Iterator[str]:
    if outcome.status != outcome.journey.ending:
        yield f"{outcome.status}, and not {outcome.journey.ending}"


def _quote(outcome: FollowedSwap) -> Iterator[str]:
    if outcome.requotes != outcome.journey.requotes:
        yield f"requoted {outcome.requotes} times, and not {outcome.journey.requotes}"
    elif outcome.requotes and outcome.swap["swap"]["last_requoted_at"] is None:
        yield "requoted, and it does not say when"


def _payout(outcome: FollowedSwap) -> Iterator[str]:
    got = outcome.received_base_units
    if outcome.journey.ending == "completed":
        least, unit = _quoted_base_units(outcome)
        if not 0 < least <= got < least + unit:
            yield f"{got} base units are paid out, and {least} were quoted"
    elif got:
        yield f"{got} base units are paid out, and nothing should be"
    if outcome.journey.refuel and not outcome.transactions_of("refuel"):
        yield "its refuel is not sent"


def _refund(outcome: FollowedSwap) -> Iterator[str]:
    back, funded = (
        sum(one["amount"] for one in outcome.transactions_of(t)) for t in ("refund", "input")
    )
    if outcome.journey.is_refunded and not 0 < back < funded:
        yield f"{back:g} of {funded:g} went back"
    if not outcome.journey.is_refunded and back:
        yield f"{back:g} went back, and nothing should"


def _webhooks(outcome: FollowedSwap) -> Iterator[str]:
    if not all(delivery.verified for delivery in outcome.deliveries):
        yield "a webhook's signature is wrong"
    delivered = {delivery.status for delivery in outcome.deliveries}
    if not outcome.journey.is_short_lived and outcome.status not in delivered:
        yield f"no webhook tells that it is {outcome.status}"


def _quoted_base_units(outcome: FollowedSwap) -> tuple[int, int]:
    """Return what the last quote says, and how much may be cut off what it shows."""
    token = outcome.swap["swap"]["destination_token"]
    precision, decimals = int(token["precision"]), int(token["decimals"])
    shown = round(outcome.swap["quote"]["receive_amount"] * 10**precision)
    unit = int(10 ** (decimals - precision))
    return shown * unit, unit


CHECKS: tuple[Callable[[FollowedSwap], Iterator[str]], ...] = (
    _ending,
    _quote,
    _payout,
    _refund,
    _webhooks,
)
