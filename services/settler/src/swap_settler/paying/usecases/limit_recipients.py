"""Bounds the gas of payments that pass their trial and revert when they are mined."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from swap_settler.paying import observe
from swap_settler.paying.decide.lane import RECIPIENT_REVERTS_MAX, Payment, within_recipient_limits
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.abandon_payouts import AbandonPayouts

REASON: Final = "payments to its recipient revert when they are mined"
PAUSE: Final = timedelta(seconds=5)


class LimitRecipients:
    """A recipient can distinguish a simulation from a block, so only its past behaviour counts."""

    def __init__(
        self, *, network: str, store: PostgresLaneStore, abandon_payouts: AbandonPayouts
    ) -> None:
        self._network = network
        self._store = store
        self._abandon_payouts = abandon_payouts

    async def without_refused_recipients(
        self, payments: Sequence[Payment], *, epoch: int
    ) -> Sequence[Payment]:
        """End payments to recipients that made too many revert, without sending them.

        :raises LeaseLost: when another lane has taken over.
        """
        ended = [
            payment
            for payment in payments
            if payment.recipient_reverts >= RECIPIENT_REVERTS_MAX and not payment.is_relay
        ]
        if not ended:
            return payments
        for payment in ended:
            observe.payment_refused(payment.swap_id, self._network, REASON)
        await self._abandon_payouts(
            {payment.intent_id: payment.swap_id for payment in ended},
            refusals={payment.intent_id: REASON for payment in ended},
            epoch=epoch,
            is_final=True,
        )
        return [payment for payment in payments if payment not in ended]

    async def in_turn(self, payments: Sequence[Payment]) -> Sequence[Payment]:
        """Leave out what waits until earlier payments to the same recipient are seen paid."""
        alone = {p.to_address for p in payments if p.goes_alone and not p.is_relay}
        if not alone:
            return payments
        leaving = within_recipient_limits(payments, await self._store.unproven_payments(alone))
        waiting = [payment.intent_id for payment in payments if payment not in leaving]
        if waiting:
            await self._store.defer_payments(waiting, pause=PAUSE)
        return leaving
