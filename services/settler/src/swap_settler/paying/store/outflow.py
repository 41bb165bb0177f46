"""What may leave now, counted in the transaction that hands out the nonces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Transaction
from swap_runtime.postgres.sql import Row
from swap_settler.paying.decide.caps import Admission, Cap, CapRequest, WithheldPayment, admit
from swap_settler.paying.store import outflow_statements as statements


@dataclass(frozen=True, slots=True)
class OutflowDecision:
    """Which payments leave, and how many wait for a cap."""

    leave: Collection[UUID]
    at: datetime | None = None  # when the caps counted them; None: no cap was checked
    withheld: int = 0


async def admit_payments(
    connection: Transaction, network: str, ids: Collection[UUID], caps: Sequence[Row]
) -> OutflowDecision:
    """Ask every cap of a network about payments that are locked, as `caps` are by `LOCK_CAPS`.

    What leaves is counted, and the rest waits in the queues of the caps that refuse it.
    """
    if not caps:
        return OutflowDecision(ids)
    # What another lane counted while this one waited for the caps is seen from here on.
    at = await connection.scalar(statements.NOW)
    values: dict[str, Any] = {"network": network, "ids": list(ids)}
    used, rows = await connection.ask(
        (statements.USED, {**values, "at": at}), (statements.CAP_REQUESTS, values)
    )
    requests = {row.intent_id: _cap_request(row, caps) for row in rows}
    admission = admit(list(requests.values()), _caps(caps, used))
    if requests:
        _record(connection, requests, admission, at)
    free = set(ids) - requests.keys()  # what brings money in
    return OutflowDecision(free | admission.leave, at, len(admission.refused_by))


def _record(
    connection: Transaction,
    requests: Mapping[UUID, CapRequest],
    admission: Admission,
    at: datetime,
) -> None:
    post = connection.post
    withheld = [
        _queue_row(id, cap, requests[id].amounts[cap])
        for id, refusing in admission.refused_by.items()
        for cap in sorted(refusing)
    ]
    _update_queues(connection, list(requests), withheld)
    spent = [{"cap_id": id, "spent": str(n)} for id, n in admission.spent.items() if n]
    if spent:
        post(statements.ADD_SPENT, {"at": at, **columns(spent)})
        counted = [
            {"intent_id": id, "cap_id": cap, "amount": str(amount)}
            for id in sorted(admission.leave)
            for cap, amount in requests[id].amounts.items()
            if amount
        ]
        post(statements.ADD_COUNTED, {"at": at, **columns(counted)})
        over = {"at": at, "ids": [one["cap_id"] for one in spent]}
        post(statements.DROP_SPENT, over)
        post(statements.DROP_COUNTED, over)
    passes = [id for id in admission.leave if requests[id].has_pass]
    if passes:
        post(statements.USE_PASSES, {"ids": passes})


def queue_for_outflow(connection: Transaction, withheld: Sequence[WithheldPayment]) -> None:
    """Let payments wait for the Treasury's own limit."""
    rows = [
        _queue_row(one.intent_id, None, one.base_units, is_too_large=one.is_too_large)
        for one in withheld
    ]
    _update_queues(connection, [one.intent_id for one in withheld], rows)


def _queue_row(
    intent_id: UUID, cap_id: int | None, amount: int | None, *, is_too_large: bool = False
) -> Mapping[str, object]:
    return {
        "intent_id": intent_id,
        "cap_id": cap_id,
        "amount": None if amount is None else str(amount),
        "is_too_large": is_too_large,
    }


def _update_queues(
    connection: Transaction, requests: Sequence[UUID], withheld: Sequence[Mapping[str, object]]
) -> None:
    arrays = columns(withheld) if withheld else {"intent_id": [], "cap_id": []}
    connection.post(statements.LEAVE_QUEUES, {"ids": list(requests), **arrays})
    if withheld:
        connection.post(statements.JOIN_QUEUES, arrays)
        connection.post(statements.DEFER_QUEUED, {"ids": arrays["intent_id"]})


def _caps(caps: Sequence[Row], used: Sequence[Row]) -> Mapping[int, Cap]:
    limits = {row.cap_id: row.units for row in caps}
    return {
        row.cap_id: Cap(
            id=row.cap_id,
            units=None if limits[row.cap_id] is None else int(limits[row.cap_id]),
            spent=int(row.spent),
            queue_head=None if row.intent_id is None else (row.created_at, row.intent_id),
        )
        for row in used
        if row.cap_id in limits
    }


def _cap_request(row: Row, caps: Sequence[Row]) -> CapRequest:
    under = [
        cap for cap in caps if cap.token in (None, row.token) and cap.app_id in (None, row.app_id)
    ]
    return CapRequest(
        intent_id=row.intent_id,
        created_at=row.created_at,
        amounts={
            cap.cap_id: row.usd_micros if cap.token is None else int(row.base_units)
            for cap in under
        },
        has_pass=row.is_let_through,
    )
