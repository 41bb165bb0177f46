"""Attaches a deposit without a swap to one, by an operator's order."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_runtime.errors import RequestRefused
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState, assets_of
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import Swap
from swap_settler.operator.decide.claims import Claimable
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork, PostgresClaimWork
from swap_settler.settling.decide.attaching import NotAttachable, Proof
from swap_settler.settling.usecases.attaching import Attaching
from swap_settler.settling.usecases.settle_deposits import key_of


@dataclass(frozen=True, slots=True)
class AttachOrder:
    """The operator's order: the listed balance, the swap that it belongs to, and the reason."""

    claimable_id: int
    base_units: int  # as listed: another balance than the one looked at is not attached
    swap_id: UUID
    by: str
    reason: str


class AttachClaimable:
    """Give a swap a balance in suspense, under the locks of every other use of it."""

    def __init__(
        self, unit_of_work: PostgresClaimUnitOfWork, *, clock: Clock, swap_messages: SwapMessages
    ) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._swap_messages = swap_messages

    async def __call__(self, order: AttachOrder) -> Swap:
        """Return the swap with the deposit.

        :raises RequestRefused: when the balance is another than was listed, or cannot be attached.
        """
        async with self._unit_of_work() as work:
            try:
                batch_state = await self._attach(work, order)
            except NotAttachable as error:
                raise RequestRefused(str(error)) from error
        observe_changes.changes_committed(batch_state.changes)
        return batch_state.swaps[order.swap_id]

    async def _attach(self, work: PostgresClaimWork, order: AttachOrder) -> BatchState:
        now = self._clock()
        listed = _unmatched_balance(await work.claimable(order.claimable_id), order)
        found = await work.unmatched_deposits({listed.owner}, ())
        if listed.owner not in found:
            raise RequestRefused("it has just become a swap's: list it again")
        await work.lock_keys({key_of(found[listed.owner])})
        swaps = await work.lock_swaps_by_id({order.swap_id})
        if order.swap_id not in swaps:
            raise RequestRefused(f"there is no swap {order.swap_id}")
        _unmatched_balance(await work.claimable(order.claimable_id), order)
        paid = await work.live_standalone_intents({listed.owner})
        waiting = await work.unmatched_deposits({listed.owner}, ())
        inventory = await work.lock_inventory(assets_of(swaps[order.swap_id]))
        batch_state = BatchState(swaps, inventory)
        attaching = Attaching(batch_state, waiting, paid.keys())
        proof = Proof(listed.owner, order.swap_id, now, by=order.by, because=order.reason)
        attaching.require(
            proof,
            ChangeCause.DEPOSIT_ATTACHED_BY_OPERATOR,
            trace_id=trace_id_of(order.swap_id),
            at=now,
        )
        await work.flush(
            batch_state.changes, self._swap_messages.outgoing(batch_state.changes, at=now)
        )
        await attaching.store(work)
        return batch_state


def _unmatched_balance(listed: Claimable | None, order: AttachOrder) -> Claimable:
    if listed is None:
        raise RequestRefused(f"nothing is claimable as {order.claimable_id}")
    if listed.swap_id is not None:
        raise RequestRefused(f"it is the swap's {listed.swap_id}")
    if listed.base_units != order.base_units:
        held = listed.base_units
        raise RequestRefused(f"it holds {held} now, not {order.base_units}: list it again")
    return listed
