"""The sender lane's second work: deposit addresses are emptied, many with one transaction.

Slot, sign, store, broadcast: each step commits before the next begins. A sweep pays only the
Treasury: by any sender and any number of times, each balance moves there once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from swap_chains.ports import ChainReader, ChainSender
from swap_runtime.crashpoint import crashpoint
from swap_settler.paying import observe
from swap_settler.paying.decide.lane import Group, Payment, Slot
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.store.lane_sweeps import PostgresLaneSweeps
from swap_settler.paying.usecases.buffer_sent_attempts import BroadcastResultListener
from swap_settler.paying.usecases.slot_transactions import SlotTransactions
from swap_settler.paying.usecases.transaction_calls import TransactionCalls

LOOK_SECONDS: Final = 0.5  # payments are looked for between any two of these
REFUSAL_PAUSE: Final = timedelta(seconds=2)


class SendSweeps:
    """Put the sweeps of one signer of one network on nonces and send them."""

    def __init__(
        self,
        *,
        chain: ChainReader,
        sender: ChainSender,
        store: PostgresLaneStore,
        sweeps: PostgresLaneSweeps,
        result_listener: BroadcastResultListener,
        calls: TransactionCalls,
        fee_cap: int,
        in_flight_max: int = 8,
        sweeps_max: int = 50,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """
        :param in_flight_max: slots that may be out before payments have the lane for themselves.
        """
        self._chain = chain
        self._sender = sender
        self._store = store
        self._sweeps = sweeps
        self._result_listener = result_listener
        self._calls = calls
        self._transactions = SlotTransactions(sender, calls)
        self._fee_cap = fee_cap
        self._in_flight_max = in_flight_max
        self._sweeps_max = sweeps_max
        self._look_seconds = look_seconds
        self._looked_at = float("-inf")
        self._has_unsigned_slots = True  # until looked at: a crash may have left some

    async def __call__(self, *, epoch: int) -> int:
        """Send one transaction if there is something to sweep, and return how many left.

        :raises ChainUnavailable: when no node answers; what was stored is sent again later.
        :raises LeaseLost: when another lane has taken over.
        """
        now = asyncio.get_running_loop().time()
        if not self._has_unsigned_slots and now < self._looked_at + self._look_seconds:
            return 0
        self._looked_at = now
        slots = await self._slots(epoch)
        if not slots:
            return 0
        had_unsigned, self._has_unsigned_slots = self._has_unsigned_slots, True
        fees = (await self._chain.fees()).at_most(self._fee_cap)
        attempts = [await self._transactions.sign(s.nonce, s.payments, fees) for s in slots]
        crashpoint("settler.after_sign_sweep")
        stored = await self._store.store_attempts(attempts, epoch=epoch)
        self._has_unsigned_slots = had_unsigned or len(stored) < len(attempts)
        crashpoint("settler.before_send_sweep")
        answers = await self._transactions.broadcast(stored) if stored else ()
        if answers:
            crashpoint("settler.after_send_sweep")
            await self._result_listener.record_results(self._chain.network, answers)
        return len(stored)

    async def _slots(self, epoch: int) -> Sequence[Slot]:
        if self._has_unsigned_slots:
            left_over = await self._sweeps.find_unsigned_slots()
            if left_over:
                return left_over
            self._has_unsigned_slots = await self._store.has_unsigned_slots()
        waiting = await self._sweeps.waiting(limit=self._sweeps_max)
        if not waiting or await self._store.in_flight() >= self._in_flight_max:
            return ()
        group = await self._possible(waiting)
        if not group:
            return ()
        slots = await self._sweeps.assign(group, epoch=epoch)
        crashpoint("settler.after_slot_sweep")
        return slots

    async def _possible(self, waiting: Sequence[Payment]) -> Sequence[Payment]:
        """Return what can be swept together now; what cannot even be alone waits."""
        together = tuple(sweep for sweep in waiting if not sweep.goes_alone)
        if together and not await self._find_refused([together]):
            return together
        refused = await self._find_refused([(sweep,) for sweep in waiting])
        if refused:
            await self._sweeps.postpone(list(refused), pause=REFUSAL_PAUSE)
        return [sweep for sweep in waiting if sweep.intent_id not in refused][:1]

    async def _find_refused(self, groups: Sequence[Group]) -> set[object]:
        """Return the intents of the groups that would revert, or that could not be simulated."""
        answers = await self._chain.simulate(
            [self._calls.paying(group) for group in groups], sender=self._sender.address
        )
        refused: set[object] = set()
        for group, answer in zip(groups, answers, strict=True):
            if not answer.succeeded:
                refused.update(sweep.intent_id for sweep in group)
                observe.sweep_refused(self._chain.network, len(group), answer.text)
        return refused
