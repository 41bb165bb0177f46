"""Signs what slots carry, and broadcasts it."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chains.errors import ChainUnavailable
from swap_chains.ports import Broadcast, ChainSender, Fees
from swap_settler.paying import observe
from swap_settler.paying.decide.lane import Group
from swap_settler.paying.decide.slots import Attempt, swaps_by_transaction, swaps_of
from swap_settler.paying.usecases.transaction_calls import TransactionCalls


class SlotTransactions:
    """The transactions of one signer: of payments, of sweeps, and of nothing."""

    def __init__(self, sender: ChainSender, calls: TransactionCalls) -> None:
        self._sender = sender
        self._calls = calls

    async def sign(self, nonce: int, group: Group, fees: Fees) -> Attempt:
        """Sign for what a slot carries; a no-op for an empty group."""
        call = self._calls.paying(group) if group else self._calls.no_op()
        transaction = await self._sender.sign(call, nonce=nonce, fees=fees)
        intents = frozenset(payment.intent_id for payment in group)
        return Attempt(transaction, fees, intents, swaps_of(group))

    async def broadcast(self, attempts: Sequence[Attempt]) -> Sequence[Broadcast]:
        """Return the nodes' answers; none while no node answers.

        The attempts are stored: the rebroadcast sends the same bytes.
        """
        network = self._sender.network
        try:
            with observe.sending(network, swaps_by_transaction(attempts)):
                return await self._sender.broadcast([a.transaction for a in attempts])
        except ChainUnavailable as error:
            observe.broadcast_failed(network, str(error))
            return ()
