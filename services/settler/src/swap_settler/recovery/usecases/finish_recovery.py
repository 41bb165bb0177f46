"""Shows a recovery, and ends it by an operator's order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from swap_runtime.errors import RequestRefused
from swap_settler.records import ListPlace, Record
from swap_settler.recovery import observe
from swap_settler.recovery.decide.recovery import (
    UNKNOWN,
    Findings,
    ForgottenPayment,
    PaymentId,
    Recovery,
    RetainedHold,
    UncomparedNetwork,
)
from swap_settler.recovery.store.recoveries import PostgresRecoveries
from swap_settler.recovery.usecases.payment_ids import payment_ids
from swap_settler.recovery.usecases.prove_recovery import FIRST, SWAPS_AT_ONCE

NOT_HELD: Final = "is not held, or is paid: a payment is explained, not released"

NEW_EVIDENCE: Final = (
    "has ended or has new evidence: run swapctl recovery status, and order it again"
)


class FinishRecovery:
    """End a recovery before `ProveRecovery` has proven it, by an operator's order.

    Payments that are known to be made stay held.
    """

    def __init__(self, recoveries: PostgresRecoveries) -> None:
        self._recoveries = recoveries

    async def find(self) -> Recovery | None:
        """Return the open recovery or the last one, and bring the metrics up to date."""
        found = await self._recoveries.find()
        retained = await self._recoveries.retained_holds()
        is_open = found is not None and found.ended is None
        held = await self.count_held() if found else 0
        observe.state(is_open=is_open, held=held, retained=len(retained))
        return found

    async def count_held(self) -> int:
        """Return how many payments and refunds are held."""
        return await self._recoveries.count_held()

    async def list_held(self, *, after: ListPlace | None = None, limit: int) -> Sequence[Record]:
        """Return the payments and refunds that are held, the oldest first.

        :param after: only what follows this place.
        """
        return await self._recoveries.list_held(after=after, limit=limit)

    async def list_uncompared(self) -> Sequence[UncomparedNetwork]:
        """Return the networks that could not be compared with the ledger yet."""
        return await self._recoveries.list_uncompared()

    async def list_retained(self) -> Sequence[RetainedHold]:
        """Return what is held also after the recovery."""
        return await self._recoveries.retained_holds()

    async def list_forgotten(self, before: datetime) -> Sequence[ForgottenPayment]:
        """Return the payments that nothing explains: with their swaps, where those are known.

        :param before: the beginning of the recovery: only older swaps are searched.
        """
        unexplained = await self._recoveries.list_unexplained()
        if not unexplained:
            return []
        known = {(one.network, one.paid_id): one for one in await self._ids(before)}
        return [
            ForgottenPayment(
                None if one is None else one.swap_id, one.kind if one else UNKNOWN, payment
            )
            for payment in unexplained
            for one in [known.get((payment.network, payment.paid_id))]
        ]

    async def require_open(self, id: int, *, evidence: int | None) -> Recovery:
        """
        :param id: as it was shown: another one that began meanwhile stays open.
        :param evidence: its count of evidence, as the operator saw it; None: any count.
        :raises RequestRefused: when it is not open, or there is new evidence.
        """
        found = await self._recoveries.find()
        if found is None or found.id != id or found.ended is not None:
            raise RequestRefused(f"recovery {id} is not open")
        if evidence not in (None, found.evidence):
            raise RequestRefused(f"Recovery {id} {NEW_EVIDENCE}")
        return found

    async def find_hold(self, id: int) -> RetainedHold:
        """
        :raises RequestRefused: when it is not held.
        """
        for hold in await self._recoveries.retained_holds():
            if hold.id == id:
                return hold
        raise RequestRefused(f"{id} {NOT_HELD}")

    async def __call__(self, id: int, *, evidence: int | None = None, by: str, reason: str) -> None:
        """
        :raises RequestRefused: as `require_open` does.
        """
        found = await self.require_open(id, evidence=evidence)
        booked = {(o.network, o.paid_id) for o in await self._recoveries.list_unexplained()}
        ids = {(one.network, one.paid_id): one for one in await self._ids(found.began_at)}
        paid = [one for key, one in ids.items() if key in booked]
        findings = Findings(paid, has_unknown=bool(booked - ids.keys()), evidence=found.evidence)
        if not await self._recoveries.finish(id, findings, by=by, reason=reason):
            raise RequestRefused(f"Recovery {id} {NEW_EVIDENCE}")
        observe.recovery_ended(id, by=by, reason=reason)
        await self.find()

    async def release(self, id: int, *, by: str, reason: str) -> None:
        """
        :param id: of a retained hold, as it was shown.
        :raises RequestRefused: when a Treasury has paid it.
        """
        if not await self._recoveries.release(id, by=by, reason=reason):
            raise RequestRefused(f"{id} {NOT_HELD}")
        observe.hold_released(id, by=by, reason=reason)

    async def _ids(self, before: datetime) -> Sequence[PaymentId]:
        ids = list(await self._recoveries.standalone_payments())
        after = FIRST
        while swaps := await self._recoveries.held_swaps(before, after=after, limit=SWAPS_AT_ONCE):
            after = swaps[-1].id
            for swap in swaps:
                ids += [o for o in payment_ids(swap) if (o.network, o.paid_id) not in swap.known]
        return ids
