"""What waits for its owner, paid by an operator's order to an address that was given. Pure.

The whole balance is paid without a charge for gas: the service held the money and did not use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.swap import Deposit, Intent, IntentKind, IntentState, Leg, Swap
from swap_settler.model.worth import worth


class NotClaimable(Exception):
    """The payment that an operator ordered cannot be made now; the text has the reason."""


@dataclass(frozen=True, slots=True)
class Claimable:
    """A balance that waits for its owner: a swap's, on one of its legs, or a deposit without a
    swap.
    """

    id: int
    network: str
    token: str
    swap_id: UUID | None
    deposit_id: Leg
    base_units: int

    @property
    def owner(self) -> UUID:
        owner = self.swap_id or self.deposit_id
        assert owner is not None, "what is claimable stands on a swap or on a deposit"
        return owner


def pay(what: Claimable, swap: Swap, *, to_address: str, at: datetime, paid_id: int) -> Changes:
    """Return the changes when an operator orders the payment of a swap's balance.

    :param paid_id: the id that the Treasury accepts once for this balance, for any recipient.
    :raises NotClaimable: when it is paid already, or on its way back.
    """
    if any(_is_same(i, what) for i in swap.intents.values()):
        raise NotClaimable("it is paid, or on its way")
    source = swap.terms.source
    is_source = (what.network, what.token) == (source.network, source.token)
    if is_source and swap.refund(what.deposit_id) is not None:
        raise NotClaimable("its refund is on its way")
    # In another asset it is a refuel that was bought and not sent.
    bought_for = what.base_units if is_source else swap.quote.spent_on_refuel
    usd_micros = worth(source, bought_for, swap.quote.source_usd_e18)
    claim = _claim(what, to_address, at, paid_id, usd_micros)
    updated_swap = swap.on(at).with_intent(claim)
    return Changes(
        swap=updated_swap,
        previous_status=swap.status,
        cause=ChangeCause.PAYMENT_ORDERED,
        intents=(claim,),
        ledger=(ledger.claim_reserved(claim),),
    )


def pay_unmatched_deposit(
    what: Claimable,
    deposit: Deposit,
    *,
    to_address: str,
    at: datetime,
    paid_id: int,
    may_match_for: timedelta,
    usd_micros: int | None,
) -> Changes:
    """Return the changes when an operator orders the payment of a deposit without a swap.

    :param may_match_for: how long a swap of its number may still come for it.
    :param usd_micros: its value now; None without a price.
    :raises NotClaimable: while a swap may come for it.
    """
    if deposit.may_find_a_swap and at < deposit.received_at + may_match_for:
        until = deposit.received_at + may_match_for
        raise NotClaimable(f"it names a swap that may still come, until {until.isoformat()}")
    claim = _claim(what, to_address, at, paid_id, usd_micros)
    return Changes(intents=(claim,), ledger=(ledger.claim_reserved(claim),))


def _is_same(intent: Intent, what: Claimable) -> bool:
    is_its_asset = (intent.network, intent.token) == (what.network, what.token)
    return intent.kind is IntentKind.CLAIM and is_its_asset and intent.deposit_id == what.deposit_id


def _claim(
    what: Claimable, to_address: str, at: datetime, paid_id: int, usd_micros: int | None
) -> Intent:
    return Intent(
        # The time makes it another intent than one that died.
        id=uuid5(what.owner, f"claim/{what.id}/{at.isoformat()}"),
        paid_id=paid_id,
        swap_id=what.swap_id,
        deposit_id=what.deposit_id,
        kind=IntentKind.CLAIM,
        network=what.network,
        token=what.token,
        to_address=to_address,
        base_units=what.base_units,
        charged_base_units=what.base_units,
        usd_micros=usd_micros,
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
    )
