"""A nonce that no block takes: more is offered for it, or it is cancelled in its own slot."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chains.ports import ChainReader, ChainSender, Fees
from swap_runtime.crashpoint import crashpoint
from swap_settler.paying import observe
from swap_settler.paying.decide.replacing import Act, OpenSlot, Patience, offered_more
from swap_settler.paying.decide.slots import Attempt
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.mark_sent import MarkSent
from swap_settler.paying.usecases.slot_transactions import SlotTransactions
from swap_settler.paying.usecases.transaction_calls import TransactionCalls


class ReplaceStuck:
    """Check the lowest nonce that is in no block, and those with payments that must not be made.

    A replacement carries the slot's payments or nothing; its bytes are kept before they are sent.
    """

    def __init__(
        self,
        *,
        chain: ChainReader,
        sender: ChainSender,
        store: PostgresLaneStore,
        mark_sent: MarkSent,
        calls: TransactionCalls,
        patience: Patience,
    ) -> None:
        self._chain = chain
        self._sender = sender
        self._store = store
        self._mark_sent = mark_sent
        self._transactions = SlotTransactions(sender, calls)
        self._patience = patience
        self._lowest_and_head: tuple[int, int] | None = (
            None  # the lowest nonce, and the head back then
        )

    async def __call__(self, *, epoch: int) -> int:
        """Return how many transactions were replaced.

        :raises ChainUnavailable: when no node answers; what was kept is sent again later.
        :raises LeaseLost: when another lane has taken over.
        """
        if not await self._store.in_flight():
            observe.nothing_stuck(self._chain.network)
            return 0
        head = await self._chain.head()
        lowest = await self._chain.nonce(self._sender.address, at=head)
        slots = await self._store.open_slots(lowest=lowest)
        passed = self._blocks_passed(lowest, head.number)
        acts = [
            (slot, self._patience.about(slot, is_lowest=slot.nonce == lowest, blocks_passed=passed))
            for slot in slots
        ]
        self._report_stuck(slots, lowest)
        signed = [
            attempt for slot, act in acts if (attempt := await self._sign_replacement(slot, act))
        ]
        stored = [one for one in signed if await self._store.store_replacement(one, epoch=epoch)]
        crashpoint("settler.after_replacement")
        if stored:
            answers = await self._transactions.broadcast(stored)
            if answers:
                await self._mark_sent.record_results(self._chain.network, answers)
        return len(stored)

    def _blocks_passed(self, lowest: int, head: int) -> int:
        if self._lowest_and_head is None or self._lowest_and_head[0] != lowest:
            self._lowest_and_head = (lowest, head)
        return head - self._lowest_and_head[1]

    def _report_stuck(self, slots: Sequence[OpenSlot], lowest: int) -> None:
        stuck = [slot for slot in slots if slot.nonce == lowest]
        if stuck:
            observe.oldest_unmined(self._chain.network, stuck[0].assigned_for)
        else:
            observe.nothing_stuck(self._chain.network)

    async def _sign_replacement(self, slot: OpenSlot, act: Act) -> Attempt | None:
        if act is Act.WAIT:
            return None
        fees = await self._fees(slot, act)
        if fees is None:
            return None
        is_cancel = act is Act.CANCEL or slot.is_cancel or not slot.payments
        attempt = await self._transactions.sign(
            slot.nonce, () if is_cancel else slot.payments, fees
        )
        observe.transaction_replaced(
            self._chain.network, slot.nonce, is_cancel=is_cancel, fees=fees
        )
        return attempt

    async def _fees(self, slot: OpenSlot, act: Act) -> Fees | None:
        cap = self._patience.cap(act, slot)
        fees = offered_more(slot.fees, await self._chain.fees(), cap=cap)
        if fees is None:
            observe.at_fee_cap(self._chain.network, slot.nonce, cap)
        return fees
