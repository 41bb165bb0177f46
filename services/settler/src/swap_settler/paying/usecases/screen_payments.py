"""Screens the recipient of every payment again before it gets a nonce."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from swap_runtime.screening import Party, Screening, Verdict
from swap_settler.paying import observe
from swap_settler.paying.decide.lane import Payment
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.abandon_payouts import AbandonPayouts

SCREENING_PAUSE: Final = timedelta(seconds=5)


class ScreenPayments:
    def __init__(
        self,
        screening: Screening,
        *,
        network: str,
        store: PostgresLaneStore,
        abandon_payouts: AbandonPayouts,
    ) -> None:
        self._screening = screening
        self._network = network
        self._store = store
        self._abandon_payouts = abandon_payouts

    async def __call__(self, payments: Sequence[Payment], *, epoch: int) -> Sequence[Payment]:
        """Return the payments that may be sent. Rejected ones end; ones without a verdict wait.

        :raises LeaseLost: when another lane has taken over.
        """
        parties = {p.intent_id: Party(self._network, p.to_address) for p in _outgoing(payments)}
        results = await self._screening.screen(set(parties.values()))
        verdicts = {id: results.get(party, Verdict.UNKNOWN) for id, party in parties.items()}
        not_cleared = [
            p for p in payments if verdicts.get(p.intent_id) not in (None, Verdict.CLEAR)
        ]
        if not not_cleared:
            return payments
        blocked = [p for p in not_cleared if verdicts[p.intent_id] is Verdict.BLOCKED]
        for payment in blocked:
            observe.payment_rejected(payment.swap_id, self._network, payment.to_address)
        if blocked:
            await self._abandon_payouts.reject(
                {p.intent_id: p.swap_id for p in blocked}, epoch=epoch
            )
        unknown = [p for p in not_cleared if p not in blocked]
        for payment in unknown:
            observe.payment_queued(
                payment.swap_id, self._network, "no screening answers for its recipient"
            )
        if unknown:
            await self._store.defer_payments([p.intent_id for p in unknown], pause=SCREENING_PAUSE)
        return [p for p in payments if p not in not_cleared]


def _outgoing(payments: Sequence[Payment]) -> Sequence[Payment]:
    return [p for p in payments if not p.is_relay]
