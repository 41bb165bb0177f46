"""Money on its way back: what a leg holds, less what sending it costs. Pure.

That a refund is due was decided with the fact that made it due. Its cost is read from the chain
later, outside any transaction. Then it starts, or it returns less than it costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from uuid import uuid5

from swap_domain.lifecycle import Status
from swap_domain.money import Rounding, convert
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.ledger.accounts import LedgerTransaction
from swap_settler.model.settled_step import SettledStep, changes_of
from swap_settler.model.swap import FailReason, Intent, IntentKind, IntentState, Leg, Method, Swap
from swap_settler.model.work_due import is_refundable, returnable_base_units
from swap_settler.model.worth import worth
from swap_settler.settling.decide.main_leg import fail


def cost_of(
    swap: Swap, *, gas: int, max_fee_per_gas: int, native_decimals: int, data_fee: int = 0
) -> int:
    """Return what the refund may cost, in base units of the source token.

    The fee is the chain's of now; the prices are the ones that the swap was quoted with.

    :param data_fee: what the chain charges for its bytes, in the chain's own coin.
    """
    source, quote = swap.terms.source, swap.quote
    return convert(
        gas * max_fee_per_gas + data_fee,
        numerator=quote.source_native_usd_e18 * 10**source.decimals,
        denominator=quote.source_usd_e18 * 10**native_decimals,
        rounding=Rounding.UP,
    )


def start(swap: Swap, leg: Leg, *, at: datetime, cost: int, paid_id: int) -> Changes:
    """Return the changes when a due refund is calculated; none when it is no longer due.

    A leg below the cost of its refund is claimable, and the swap's status shows it.

    :param paid_id: what the Treasury accepts once for this leg's refund.
    """
    on_leg, to_address = returnable_base_units(swap, leg), swap.terms.refund_address
    if to_address is None or not is_refundable(swap, leg):
        return NOTHING
    updated_swap = swap.on(at)
    if not is_worth(swap, leg, cost=cost):
        return _not_worth_it(swap, updated_swap, leg, at)
    source = swap.terms.source
    refund = Intent(
        # The sequence makes it another intent than one that died.
        id=uuid5(swap.id, f"refund/{leg or 'main'}/{updated_swap.sequence}"),
        paid_id=paid_id,
        swap_id=swap.id,
        deposit_id=leg,
        kind=IntentKind.REFUND,
        network=source.network,
        token=source.token,
        to_address=to_address,
        base_units=on_leg - cost,
        charged_base_units=on_leg,
        usd_micros=worth(source, on_leg - cost, swap.quote.source_usd_e18),
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
    )
    with_refund = updated_swap.with_intent(refund)
    entries = [ledger.refund_cost(with_refund, refund)] if cost else []
    if leg is not None:
        entries.insert(0, ledger.claimable_to_liability(with_refund, on_leg, leg))
    entries.append(ledger.payout_reserved(with_refund, refund))
    started = SettledStep(with_refund, (refund,), tuple(entries))
    return changes_of(swap, started, ChangeCause.REFUND_STARTED)


def has_address(swap: Swap) -> bool:
    """Whether money of the swap came to a deposit address: it has to be swept to be sent."""
    return any(d.method is Method.DEPOSIT_ADDRESS for d in swap.deposits.values())


def is_worth(swap: Swap, leg: Leg, *, cost: int) -> bool:
    """Whether sending back what a leg holds returns more than it costs."""
    return cost < returnable_base_units(swap, leg)


def is_covered(swap: Swap, leg: Leg, *, available: int) -> bool:
    """Whether the Treasury can send back what a leg holds without what is not swept yet.

    :param available: what the Treasury holds less all that is owed, this leg's money too.
    """
    return available >= 0 or not returnable_base_units(swap, leg)


def abandon_refund(swap: Swap, *, at: datetime) -> Changes:
    """Return the changes when a due refund was not calculated in time."""
    if swap.status is not Status.REFUND_PENDING or swap.refund_of(None) is not None:
        return NOTHING
    assert swap.fail_reason is not None, "a swap is refunded for a reason"
    failed = fail(swap.on(at), swap.fail_reason, at)
    return changes_of(swap, failed, ChangeCause.REFUND_OVERDUE)


def _not_worth_it(swap: Swap, updated_swap: Swap, leg: Leg, at: datetime) -> Changes:
    if leg is not None:
        return NOTHING
    done = fail(updated_swap, FailReason.REFUND_BELOW_COST, at)
    return changes_of(swap, done, ChangeCause.REFUND_BELOW_COST)


def release_payment(swap: Swap, intent: Intent) -> SettledStep:
    """Return what takes the bookings of a dead payment back, up to where its leg was before.

    With an output dies what was ordered beside it, as long as nothing of that was sent.
    """
    if intent.kind is IntentKind.CLAIM:
        return SettledStep(swap, entries=(ledger.claim_released(intent),))
    freed = ledger.payout_released(swap, intent)
    match intent.kind:
        case IntentKind.OUTPUT:
            done = _refuel_released(swap)
            return done.preceded_by(freed, ledger.quote_reversed(swap, intent))
        case IntentKind.REFUND:
            return SettledStep(swap, entries=(freed, *_refund_reversed(swap, intent)))
        case _:
            return SettledStep(swap, entries=(freed,))


def _refund_reversed(swap: Swap, refund: Intent) -> Iterator[LedgerTransaction]:
    if refund.charged_base_units > refund.base_units:
        yield ledger.refund_cost_reversed(swap, refund)
    if refund.deposit_id is not None:
        yield ledger.claimable(swap, refund.charged_base_units, refund.deposit_id)


def _refuel_released(swap: Swap) -> SettledStep:
    refuel, intent = swap.quote.refuel, swap.refuel
    if refuel is None or (intent is not None and not intent.is_revocable):
        return SettledStep(swap)
    purchase_reversed = ledger.refuel_unbought(swap, refuel)
    if intent is None:
        return SettledStep(swap, entries=(purchase_reversed,))
    dead = intent.as_dead("its output is dead")
    freed = swap.with_intent(dead)
    return SettledStep(freed, (dead,), (ledger.payout_released(freed, dead), purchase_reversed))
