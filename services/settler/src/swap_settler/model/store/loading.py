"""Builds swaps and payments from the rows of their statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from swap_runtime.postgres.database import Question
from swap_runtime.postgres.sql import Row, Rows
from swap_settler.model.store.rows import to_authorization, to_deposit, to_intent, to_swap
from swap_settler.model.store.swap_statements import Loading
from swap_settler.model.swap import Deposit, Intent, Swap


def questions(by: Loading, values: Mapping[str, Any]) -> Sequence[Question]:
    """Return the queries of one round trip; `to_swaps` reads their rows."""
    return [(statement, values) for statement in by]


def to_swaps(answers: Sequence[Rows]) -> Sequence[Swap]:
    """Return the swaps, each with its deposits, intents and newest authorization."""
    rows, found, tried, came, signed = answers
    deposits: dict[UUID, dict[UUID, Deposit]] = defaultdict(dict)
    for row in came:
        deposits[row.swap_id][row.id] = to_deposit(row)
    intents: dict[UUID, dict[UUID, Intent]] = defaultdict(dict)
    for row, intent in zip(found, to_intents(found, tried), strict=True):
        intents[row.swap_id][intent.id] = intent
    authorizations = {row.swap_id: to_authorization(row) for row in signed}
    return [
        to_swap(row, deposits[row.id], intents[row.id], authorizations.get(row.id)) for row in rows
    ]


def to_intents(rows: Sequence[Row], attempts: Sequence[Row]) -> Sequence[Intent]:
    """Return the intents, each with what was signed for it."""
    signed: dict[UUID, list[Row]] = defaultdict(list)
    for attempt in attempts:
        signed[attempt.intent_id].append(attempt)
    return [
        to_intent(
            row,
            frozenset(attempt.transaction_hash for attempt in signed[row.id]),
            has_open_attempt=any(attempt.is_open for attempt in signed[row.id]),
        )
        for row in rows
    ]
