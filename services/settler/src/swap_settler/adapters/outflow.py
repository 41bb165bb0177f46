"""What may leave now, counted in the transaction that hands out the nonces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from swap_runtime.columns import columns
from swap_runtime.database import Transaction
from swap_runtime.sql import Row
from swap_settler.adapters import outflow_statements as statements
from swap_settler.domain.caps import Admitted, Asked, Cap, Kept, admit


@dataclass(frozen=True, slots=True)
class Told:
    """Which payments leave, at which moment, and what is to be kept about it."""

    leave: frozenset[UUID]
    at: datetime | None = None  # None: no cap was asked
    asked: Mapping[UUID, Asked] = field(default_factory=dict)
    admitted: Admitted = field(default_factory=Admitted)


async def admit_payments(
    connection: Transaction, network: str, ids: Collection[UUID], caps: Sequence[Row]
) -> Told:
    """Ask every cap of a network about payments that are locked, as `caps` are by `LOCK_CAPS`."""
    if not caps:
        return Told(frozenset(ids))
    # What another lane counted while this one waited for the caps is seen from here on.
    at = await connection.scalar(statements.NOW)
    values: dict[str, Any] = {"network": network, "ids": list(ids)}
    used, rows = await connection.ask(
        (statements.USED, {**values, "at": at}), (statements.ASKED, values)
    )
    asked = [_asked(row, caps) for row in rows]
    admitted = admit(asked, _caps(caps, used))
    free = frozenset(ids) - {one.intent_id for one in asked}  # what brings money in
    return Told(free | admitted.leave, at, {one.intent_id: one for one in asked}, admitted)


def keep_lines(connection: Transaction, told: Told) -> None:
    """Count what leaves, and let the rest stand in the lines of what refused it."""
    if told.at is None or not told.asked:
        return
    post = connection.post
    _stand(
        connection,
        list(told.asked),
        [
            _kept(id, cap, told.asked[id].amounts[cap])
            for id, refusing in told.admitted.kept_by.items()
            for cap in sorted(refusing)
        ],
    )
    spent = [{"cap_id": id, "spent": str(n)} for id, n in told.admitted.spent.items() if n]
    if spent:
        post(statements.ADD_SPENT, {"at": told.at, **columns(spent)})
        counted = [
            {"intent_id": id, "cap_id": cap, "amount": str(amount)}
            for id in sorted(told.admitted.leave)
            for cap, amount in told.asked[id].amounts.items()
            if amount
        ]
        post(statements.ADD_COUNTED, {"at": told.at, **columns(counted)})
        over = {"at": told.at, "ids": [one["cap_id"] for one in spent]}
        post(statements.DROP_SPENT, over)
        post(statements.DROP_COUNTED, over)
    passes = [id for id in told.admitted.leave if told.asked[id].is_let_through]
    if passes:
        post(statements.USE_PASSES, {"ids": passes})


def give_back(connection: Transaction, ids: Sequence[object]) -> None:
    """Count payments no longer that are proven not to have left. After the accounts are locked."""
    connection.post(statements.LOCK_COUNTED, {"ids": ids})
    connection.post(statements.GIVE_BACK, {"ids": ids})


def stand_in_treasurys_line(connection: Transaction, kept: Sequence[Kept]) -> None:
    """Let payments wait for the Treasury's own limit."""
    rows = [
        _kept(one.intent_id, None, one.base_units, is_too_large=one.is_too_large) for one in kept
    ]
    _stand(connection, [one.intent_id for one in kept], rows)


def _kept(
    intent_id: UUID, cap_id: int | None, amount: int | None, *, is_too_large: bool = False
) -> Mapping[str, object]:
    units = None if amount is None else str(amount)
    told = {"intent_id": intent_id, "cap_id": cap_id, "amount": units}
    return {**told, "is_too_large": is_too_large}


def _stand(
    connection: Transaction, asked: Sequence[UUID], kept: Sequence[Mapping[str, object]]
) -> None:
    arrays = columns(kept) if kept else {"intent_id": [], "cap_id": [], "amount": []}
    of_lines = {name: arrays[name] for name in ("intent_id", "cap_id")}
    connection.post(statements.LEAVE_LINES, {"ids": list(asked), **of_lines})
    if kept:
        connection.post(statements.JOIN_LINES, arrays)
        connection.post(statements.PUT_OFF, {"ids": arrays["intent_id"]})


def _caps(caps: Sequence[Row], used: Sequence[Row]) -> Mapping[int, Cap]:
    limits = {row.cap_id: row.units for row in caps}
    return {
        row.cap_id: Cap(
            id=row.cap_id,
            units=None if limits[row.cap_id] is None else int(limits[row.cap_id]),
            spent=int(row.spent),
            first_in_line=None if row.intent_id is None else (row.created_at, row.intent_id),
        )
        for row in used
        if row.cap_id in limits
    }


def _asked(row: Row, caps: Sequence[Row]) -> Asked:
    under = [
        cap for cap in caps if cap.token in (None, row.token) and cap.app_id in (None, row.app_id)
    ]
    return Asked(
        intent_id=row.intent_id,
        created_at=row.created_at,
        amounts={
            cap.cap_id: row.usd_micros if cap.token is None else int(row.base_units)
            for cap in under
        },
        is_let_through=row.is_let_through,
    )
