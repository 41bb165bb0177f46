"""What becomes of a signature that deposits: sent once, deposited, or ended. Pure.

One signature is relayed once, by a separate intent, and a swap has one live intent of that kind.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID, uuid5

from swap_domain.authorization_status import AuthorizationStatus, AuthorizationTrigger
from swap_domain.lifecycle import Status
from swap_settler.model.authorization import Authorization, SubmittedSignature
from swap_settler.model.chain_facts import FactState
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.settled_step import SettledStep
from swap_settler.model.swap import Deposit, Intent, IntentKind, IntentState, Swap
from swap_settler.model.worth import worth

# So many deposits of one signer that failed on chain within a day are all we pay gas for.
REVERTS_MAX: Final = 3


def submit(swap: Swap, signature: SubmittedSignature, *, at: datetime, reverts: int = 0) -> Changes:
    """Return the changes when a signature arrives; none while another one is in progress.

    :param reverts: how many deposits of this signer failed on chain within a day.
    """
    known = swap.authorization
    if known is not None and (known.submission >= signature.submission or known.is_in_progress):
        return NOTHING
    updated_swap = swap.on(at)
    refusal = _refusal(swap, signature, at, reverts)
    if refusal is not None:
        trigger, detail = refusal
        ended = _new_authorization(signature, None, at).with_trigger(trigger, detail=detail)
        return Changes(
            swap=replace(updated_swap, authorization=ended),
            previous_status=swap.status,
            cause=ChangeCause.AUTHORIZATION_REFUSED,
        )
    source = swap.terms.source
    relay = Intent(
        id=uuid5(swap.id, f"gasless/{signature.submission}"),
        paid_id=None,
        swap_id=swap.id,
        deposit_id=None,
        kind=IntentKind.GASLESS,
        network=source.network,
        token=source.token,
        to_address=signature.paymaster,
        base_units=signature.base_units,
        charged_base_units=0,
        usd_micros=worth(source, signature.base_units, swap.quote.source_usd_e18),
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
        payer=signature.signer,
        call_data=signature.call_data,
        not_after=signature.not_after,
    )
    with_relay = replace(
        updated_swap, authorization=_new_authorization(signature, relay.id, at)
    ).with_intent(relay)
    return Changes(
        swap=with_relay,
        previous_status=swap.status,
        cause=ChangeCause.AUTHORIZATION_SUBMITTED,
        intents=(relay,),
    )


def mark_relay_broadcast(swap: Swap, relay: Intent, *, at: datetime) -> Changes:
    """Return the changes when the nodes have the deposit."""
    out = replace(relay, state=IntentState.BROADCAST)
    updated_swap, known = swap.on(at).with_intent(out), swap.authorization
    if known is not None and known.intent_id == relay.id and not _has_lapsed(known, at):
        updated_swap = replace(updated_swap, authorization=_with_broadcast(known, relay))
    return Changes(
        swap=updated_swap,
        previous_status=swap.status,
        cause=ChangeCause.AUTHORIZATION_SENT,
        intents=(out,),
    )


def end_relay(
    swap: Swap, intent_id: UUID, trigger: AuthorizationTrigger, *, at: datetime, because: str
) -> Changes:
    """Return the changes when no signed transaction can deposit, and none will be signed."""
    relay = swap.intents.get(intent_id)
    if relay is None or relay.state is IntentState.CONFIRMED:
        return NOTHING
    dead, known = relay.as_dead(because), swap.authorization
    updated_swap = swap.on(at).with_intent(dead)
    if known is not None and known.intent_id == intent_id and not _is_done(known):
        if _has_lapsed(known, at):
            trigger = AuthorizationTrigger.WINDOW_CLOSED
        updated_swap = replace(
            updated_swap, authorization=known.with_trigger(trigger, detail=because)
        )
    return Changes(
        swap=updated_swap,
        previous_status=swap.status,
        cause=ChangeCause.AUTHORIZATION_ENDED,
        intents=(dead,),
    )


def confirm_relay(swap: Swap, intent_id: UUID, *, at: datetime) -> Changes:
    """Return the changes when a final block has the deposit's transaction: it was relayed."""
    relay = swap.intents.get(intent_id)
    if relay is None or relay.state is IntentState.CONFIRMED:
        return NOTHING
    return Changes(intents=(replace(relay, state=IntentState.CONFIRMED, confirmed_at=at),))


def with_authorization_progress(swap: Swap, deposit: Deposit, fact_state: FactState) -> Swap:
    """Return the swap with the state of the signature that made its deposit, if one did.

    The signer owned the money: a refund goes there, unless the swap has another refund address.
    """
    relay, known = swap.relay, swap.authorization
    if relay is None or known is None or deposit.transaction_hash not in relay.attempts:
        return swap
    if fact_state is FactState.REVERTED:
        return _reorged_out(swap, relay, known)
    terms, seen = swap.terms, _with_block(relay, deposit)
    # Of several that were signed for one nonce, this is the one that a block has.
    done = replace(_with_broadcast(known, relay), transaction_hash=deposit.transaction_hash)
    if fact_state is FactState.CONFIRMED and done.status is AuthorizationStatus.PUBLISHED:
        done = done.with_trigger(AuthorizationTrigger.DEPOSIT_CONFIRMED)
    return replace(
        swap.with_intent(seen),
        authorization=done,
        terms=replace(terms, refund_address=terms.refund_address or known.signer),
    )


def without_idle_relay(done: SettledStep) -> SettledStep:
    """Return the step with an idle signature ended, once the swap has its money.

    Idle: no transaction for it can be mined. A later one would take the money a second time. A part
    of the money is not enough: anyone can send a part.
    """
    swap, relay = done.swap, done.swap.relay
    if relay is None or not relay.is_revocable:
        return done
    there = sum(d.base_units for d in swap.deposits.values() if d.is_live)
    if swap.status is Status.DEPOSIT_PENDING and there < swap.quote.requested_base_units:
        return done
    because, known = "the swap was funded in another way", swap.authorization
    dead = relay.as_dead(because)
    if known is not None and known.intent_id == relay.id and known.is_in_progress:
        refused = known.with_trigger(AuthorizationTrigger.SIGNATURE_REFUSED, detail=because)
        swap = replace(swap, authorization=refused)
    return replace(done, swap=swap.with_intent(dead), intents=(*done.intents, dead))


def _refusal(
    swap: Swap, signature: SubmittedSignature, at: datetime, reverts: int
) -> tuple[AuthorizationTrigger, str] | None:
    if at >= signature.not_after:
        return AuthorizationTrigger.WINDOW_CLOSED, "the signature came too late"
    if swap.status is not Status.DEPOSIT_PENDING or any(d.is_live for d in swap.deposits.values()):
        return AuthorizationTrigger.SIGNATURE_REFUSED, "the swap is funded already, or over"
    if signature.base_units != swap.quote.requested_base_units:
        return AuthorizationTrigger.SIGNATURE_REFUSED, "the swap asks for another amount"
    if reverts >= REVERTS_MAX:
        why = f"{reverts} deposits of this signer failed on chain within a day"
        return AuthorizationTrigger.SIGNATURE_REFUSED, why
    return None


def _new_authorization(
    signature: SubmittedSignature, intent_id: UUID | None, at: datetime
) -> Authorization:
    return Authorization(
        submission=signature.submission,
        intent_id=intent_id,
        standard=signature.standard,
        signer=signature.signer,
        base_units=signature.base_units,
        nonce=signature.nonce,
        valid_after=signature.valid_after,
        valid_before=signature.valid_before,
        status=AuthorizationStatus.INITIATED,
        detail=None,
        transaction_hash=None,
        submitted_at=at,
    )


def _is_done(known: Authorization) -> bool:
    return known.status is AuthorizationStatus.COMPLETED


def _has_lapsed(known: Authorization, at: datetime) -> bool:
    return at >= datetime.fromtimestamp(known.valid_before, UTC)


def _with_broadcast(known: Authorization, relay: Intent) -> Authorization:
    if known.status is not AuthorizationStatus.INITIATED:
        return known
    sent = replace(known, transaction_hash=min(relay.attempts, default=None))
    return sent.with_trigger(AuthorizationTrigger.BROADCAST)


def _reorged_out(swap: Swap, relay: Intent, known: Authorization) -> Swap:
    """The same bytes are out still: they may be mined again."""
    if relay.state is not IntentState.CONFIRMED:
        relay = replace(
            relay,
            state=IntentState.BROADCAST,
            transaction_hash=None,
            block_number=None,
            block_hash=None,
            block_time=None,
        )
    if known.status is AuthorizationStatus.COMPLETED:
        known = known.with_trigger(AuthorizationTrigger.DEPOSIT_REVERTED)
    return replace(swap.with_intent(relay), authorization=known)


def _with_block(relay: Intent, deposit: Deposit) -> Intent:
    is_final = relay.state is IntentState.CONFIRMED
    return replace(
        relay,
        state=relay.state if is_final else IntentState.MINED,
        transaction_hash=deposit.transaction_hash,
        block_number=deposit.block_number,
        block_hash=deposit.block_hash,
        block_time=deposit.block_time,
    )
