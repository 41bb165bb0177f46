"""Ends gasless deposits that a chain refuses, with the reason; none is retried."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final
from uuid import UUID

from swap_chains.evm.codec import selector
from swap_chains.ports import CallSimulation, ChainReader, Holding
from swap_contracts.tracing import trace_id_of
from swap_domain.authorization_status import AuthorizationTrigger
from swap_runtime.clock import Clock
from swap_settler.gasless.decide.relaying import confirm_relay, end_relay
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.changes import Changes
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import Intent, Swap
from swap_settler.paying.decide.lane import Payment
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork

# The Paymaster's error for a permit when another one of the signer has used its nonce.
OVERTAKEN: Final = (
    selector("PermitNotUsed(address,address,uint256)"),
    selector("WrongAllowance(address,address,uint256,uint256)"),
)


class EndRelays:
    """End gasless deposits that no attempt can make any more, and those that are final."""

    def __init__(
        self,
        unit_of_work: PostgresLaneUnitOfWork,
        *,
        chain: ChainReader,
        clock: Clock,
        swap_messages: SwapMessages,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._chain = chain
        self._clock = clock
        self._swap_messages = swap_messages

    async def __call__(self, refusals: Mapping[Payment, CallSimulation], *, epoch: int) -> None:
        """End unsigned ones that the Paymaster would refuse now.

        :param refusals: the answer of each simulation.
        :raises ChainUnavailable: when no node returns the balances of the signers.
        :raises LeaseLost: when another lane has taken over.
        """
        short = await self.short(refusals)
        ids = [relay.intent_id for relay in refusals]
        async with self._unit_of_work() as work:
            await work.require_epoch(epoch)
            swaps = await work.lock_swaps_by_id({_swap_id(relay) for relay in refusals})
            unsent = await work.failures_of_unsent(ids)
            batch_state = BatchState(swaps, {})
            now = self._clock()
            for relay, refusal in refusals.items():
                if relay.intent_id in unsent:
                    because = f"refused: {refusal.text}".strip()
                    trigger = _trigger(relay, short)
                    if refusal.data[:4] in OVERTAKEN:
                        # It was good when it came: another permit of the signer was used since.
                        trigger = AuthorizationTrigger.WINDOW_CLOSED
                    swap = batch_state.swaps[_swap_id(relay)]
                    change = end_relay(swap, relay.intent_id, trigger, at=now, because=because)
                    batch_state.add(change, trace_id=trace_id_of(swap.id))
            await self._swap_messages.flush(work, batch_state.changes, at=now)
        observe_changes.changes_committed(batch_state.changes)

    async def short(self, relays: Collection[Payment]) -> frozenset[UUID]:
        """Return the relays with a signer that does not hold the amount now."""
        held = {relay: Holding(relay.payer, relay.token) for relay in relays if relay.payer}
        if not held:
            return frozenset()
        balances = await self._chain.balances(set(held.values()), at=await self._chain.head())
        return frozenset(
            relay.intent_id
            for relay, holding in held.items()
            if balances[holding] < relay.base_units
        )

    def of_closed_slots(
        self,
        owners: Mapping[UUID, Swap | Intent],
        relays: Mapping[Payment, bool],
        short: frozenset[UUID],
    ) -> Sequence[Changes]:
        """Return the changes of relays in a final block, each done or failed."""
        swaps = (owners[relay.intent_id] for relay in relays)
        batch_state = BatchState({swap.id: swap for swap in swaps if isinstance(swap, Swap)}, {})
        now = self._clock()
        for relay, has_succeeded in relays.items():
            swap = batch_state.swaps[_swap_id(relay)]
            if has_succeeded:
                change = confirm_relay(swap, relay.intent_id, at=now)
            else:
                because = "its transaction reverted"
                change = end_relay(
                    swap, relay.intent_id, _trigger(relay, short), at=now, because=because
                )
            batch_state.add(change, trace_id=trace_id_of(swap.id))
        return batch_state.changes


def _swap_id(relay: Payment) -> UUID:
    assert relay.swap_id is not None, "a gasless deposit is a swap's"
    return relay.swap_id


def _trigger(relay: Payment, short: frozenset[UUID]) -> AuthorizationTrigger:
    if relay.intent_id in short:
        return AuthorizationTrigger.BALANCE_SHORT
    return AuthorizationTrigger.SIGNATURE_REFUSED
