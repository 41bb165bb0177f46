"""The Treasury's own outflow limits: what it would not pay now waits, and is not sent to revert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from swap_chains.evm.codec import WORD
from swap_chains.ports import CallSimulation, ChainReader
from swap_settler.paying import observe
from swap_settler.paying.decide.caps import beyond_limit, queue_length, withheld_payment
from swap_settler.paying.decide.lane import Group, Payment
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.transaction_calls import TransactionCalls

UNLIMITED: Final = 2**256 - 1
QUEUE_LENGTH_MAX: Final = 50  # how much of a line is looked at together


class ApplyOutflowLimits:
    """Each payment may be within the limit while all of them are not: what leaves is summed up."""

    def __init__(
        self, *, chain: ChainReader, sender: str, store: PostgresLaneStore, calls: TransactionCalls
    ) -> None:
        self._chain = chain
        self._sender = sender
        self._store = store
        self._calls = calls

    async def queue_excess(
        self,
        groups: Sequence[Group],
        allowances: Mapping[str, CallSimulation],
        sent: Mapping[str, int],
    ) -> Sequence[Payment]:
        """Queue the payments beyond a limit, and return them.

        :param allowances: the Treasury's answer for each token.
        :param sent: what is on its way, by token.
        """
        known = {
            token: _to_units(answer) for token, answer in allowances.items() if answer.succeeded
        }
        limited = {token: allowance for token, allowance in known.items() if allowance < UNLIMITED}
        if not limited:
            return ()
        over_limit = {}
        for token, allowance in limited.items():
            payments = [p for g in groups for p in g if p.token == token and not p.is_relay]
            available = allowance - sent.get(token, 0)
            if not _fits(payments, available):
                over_limit[token] = (payments, available)
        return await self._queue_excess(over_limit) if over_limit else ()

    async def _queue_excess(
        self, over_limit: Mapping[str, tuple[Sequence[Payment], int]]
    ) -> Sequence[Payment]:
        capacities = await self._capacities(list(over_limit))
        excess = [
            payment
            for token, (payments, available) in over_limit.items()
            for payment in beyond_limit(
                payments,
                available=available,
                capacity=capacities.get(token, UNLIMITED),
                queue_length_max=QUEUE_LENGTH_MAX,
            )
        ]
        await self._queue(excess, capacities)
        return excess

    async def queue_refused(self, payments: Sequence[Payment]) -> None:
        """Queue payments that the Treasury refused for its limit."""
        if payments:
            tokens = sorted({payment.token for payment in payments})
            await self._queue(payments, await self._capacities(tokens))

    async def _queue(self, payments: Sequence[Payment], capacities: Mapping[str, int]) -> None:
        withheld = [
            withheld_payment(p, capacity=capacities.get(p.token, UNLIMITED)) for p in payments
        ]
        changed = [one for one in withheld if one.is_changed]
        if changed:
            await self._store.queue_payments(changed)
            observe.payments_withheld(self._chain.network, len(changed))

    async def _capacities(self, tokens: Sequence[str]) -> Mapping[str, int]:
        calls = [self._calls.capacity(token) for token in tokens]
        answers = await self._chain.simulate(calls, sender=self._sender)
        found = zip(tokens, answers, strict=True)
        return {token: _to_units(answer) for token, answer in found if answer.succeeded}


def _fits(payments: Sequence[Payment], available: int) -> bool:
    fits = sum(payment.base_units for payment in payments) <= available
    return fits and queue_length(payments) < QUEUE_LENGTH_MAX


def _to_units(answer: CallSimulation) -> int:
    return int.from_bytes(answer.data[:WORD], "big")
