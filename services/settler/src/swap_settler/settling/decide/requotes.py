"""Money that is not what the quote was for: late, a part of it, or more. Pure.

That another quote is due was decided with the fact that made it due. The quote is requested later,
outside any transaction. It is applied if the swap's sum is still the same.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Unpack

from swap_domain.money import Rounding, convert
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.settled_step import PayoutResources, changes_of
from swap_settler.model.swap import FailReason, QuoteTerms, Swap
from swap_settler.settling.decide.main_leg import fill, refund_or_fail


class RequoteRefusal(Enum):
    """Why there is no other quote."""

    BELOW_MINIMUM = FailReason.RECEIVED_LESS
    ABOVE_MAXIMUM = FailReason.RECEIVED_MORE
    NO_LIQUIDITY = FailReason.INSUFFICIENT_LIQUIDITY
    NO_ANSWER = FailReason.ROUTE_UNAVAILABLE  # and none came within the time limit


def floor_of(swap: Swap, base_units: int) -> int:
    """Return the least that a sum may be swapped for: the share that the user agreed to.

    The part that buys a refuel is left out of both sums. A quote that was met on time is a promise:
    a larger deposit is never worth less than it.
    """
    quote = swap.quote
    if not quote.swapped_base_units:
        return 0
    share = convert(
        base_units,
        numerator=quote.min_payout_base_units,
        denominator=quote.swapped_base_units,
        rounding=Rounding.UP,
    )
    return max(share, quote.payout_base_units) if quote.locked_at is not None else share


def accept(
    swap: Swap, offer: QuoteTerms, *, at: datetime, **resources: Unpack[PayoutResources]
) -> Changes:
    """Return the changes of the quoter's offer; none if it is for another sum than credited.

    It is executed at once, or the money is refunded; the swap does not wait for a better offer.

    :param offer: with the least that was agreed to as its minimum.
    """
    if not swap.asks_for_another_quote or offer.requested_base_units != swap.credited_base_units:
        return NOTHING
    if offer.payout_base_units < floor_of(swap, offer.swapped_base_units):
        return _decline(swap, FailReason.DEGRADED_QUOTE, at, **resources)
    if resources["available"] < offer.payout_base_units:
        return _decline(swap, FailReason.INSUFFICIENT_LIQUIDITY, at, **resources)
    revision = swap.quote.revision + 1
    quote = replace(offer, revision=revision, last_requoted_at=at, locked_at=at)
    requoted = replace(swap.on(at), quote=quote)
    return changes_of(swap, fill(requoted, at, **resources), ChangeCause.REQUOTED)


def refuse(
    swap: Swap, why: RequoteRefusal, *, at: datetime, **resources: Unpack[PayoutResources]
) -> Changes:
    """Return the changes when the quoter offers nothing for the credited sum.

    A partial deposit waits until the swap's deadline: for the rest if it is below the minimum, for
    a price if there is none. Where no sum was requested, one below the minimum may be partial.
    """
    may_be_part = swap.lacks_base_units or (swap.is_open and why is RequoteRefusal.BELOW_MINIMUM)
    waits = why in (RequoteRefusal.BELOW_MINIMUM, RequoteRefusal.NO_ANSWER) and may_be_part
    if not swap.asks_for_another_quote or waits:
        return NOTHING
    return _decline(swap, why.value, at, **resources)


def _decline(
    swap: Swap, reason: FailReason, at: datetime, **resources: Unpack[PayoutResources]
) -> Changes:
    updated_swap = swap.on(at)
    if swap.quote.locked_at is None:
        done = refund_or_fail(updated_swap, reason, at)
    else:
        done = fill(updated_swap, at, **resources)
    return changes_of(swap, done, ChangeCause.REQUOTE_REFUSED)
