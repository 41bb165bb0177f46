"""The messages of one swap, each as one line. Pure: rows in, rows out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

ADDRESSES: Final = ("address", "to_address", "from_address")


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One row of an outbox."""

    source: str
    id: int
    topic: str
    key: str
    payload: bytes
    created_at: datetime
    published_at: datetime | None

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.payload)["body"]
        return body


@dataclass(frozen=True, slots=True)
class SwapMarks:
    """Values that identify messages of the swap with another key."""

    swap_id: str
    sequence_numbers: frozenset[int]
    transaction_hashes: frozenset[str]
    deposit_addresses: frozenset[str]  # that received something for the swap

    def search_terms(self) -> list[bytes]:
        """Return byte strings; a message is looked at if it contains one of them."""
        numbers = [f'"sequence_number":{number}' for number in self.sequence_numbers]
        terms = (*numbers, *self.transaction_hashes, *self.deposit_addresses)
        return [text.encode() for text in terms]

    def of_own_addresses(self, assigned: Iterable[OutboxMessage]) -> SwapMarks:
        """Return the marks without a Treasury, to which an attached deposit may have been sent.

        :param assigned: messages that assign a deposit address.
        """
        own = {row.body["address"] for row in assigned}
        return replace(self, deposit_addresses=self.deposit_addresses & own)


def collect_marks(swap_id: str, rows: Iterable[OutboxMessage]) -> SwapMarks:
    """Collect the marks from the messages that are keyed by the swap."""
    bodies = [row.body for row in rows if row.key == swap_id]
    hashes = {
        transaction["transaction_hash"]
        for body in bodies
        for transaction in body.get("transactions", ())
        if transaction["transaction_hash"]
    }
    numbers = {body["sequence_number"] for body in bodies if "sequence_number" in body}
    addresses = {
        transaction["to_address"]
        for body in bodies
        if body.get("method") == "deposit_address"
        for transaction in body.get("transactions", ())
        if transaction["type"] == "input" and transaction["to_address"]
    }
    return SwapMarks(swap_id, frozenset(numbers), frozenset(hashes), frozenset(addresses))


def is_about_swap(row: OutboxMessage, marks: SwapMarks) -> bool:
    """Return whether a message is about the swap."""
    if row.key == marks.swap_id:
        return True
    body = row.body
    return (
        body.get("sequence_number") in marks.sequence_numbers
        or body.get("transaction_hash") in marks.transaction_hashes
        # An assigned deposit address, a deposit to it, or its sweep.
        or any(body.get(name) in marks.deposit_addresses for name in ADDRESSES)
    )


def timeline(rows: Sequence[OutboxMessage]) -> list[dict[str, Any]]:
    """Return the messages by when their transactions began, with the time since the first."""
    ordered = sorted(rows, key=lambda row: (row.created_at, row.source, row.id))
    return [
        {
            "at": row.created_at.isoformat(),
            "after_ms": round((row.created_at - ordered[0].created_at).total_seconds() * 1000),
            "from": row.source,
            "topic": row.topic,
            "says": _summary(row.body),
            "published_after_ms": (
                None
                if row.published_at is None
                else round((row.published_at - row.created_at).total_seconds() * 1000)
            ),
            "body": row.body,
        }
        for row in ordered
    ]


def _summary(body: dict[str, Any]) -> str:
    if "transactions" in body:
        moves = [f"{t['type']} {t['status']}" for t in body["transactions"]]
        status = f"#{body['sequence']} {body['status']}"
        return f"{status} ({', '.join(moves)})" if moves else status
    if "state" in body:
        return f"{body['state']} {body['base_units']} of {body['token']} in {_short(body)}"
    if "type" in body:
        return str(body["type"])
    return ", ".join(f"{name} {value}" for name, value in body.items())


def _short(body: dict[str, Any]) -> str:
    transaction_hash = body["transaction_hash"]
    return f"{transaction_hash[:12]}…" if transaction_hash else "no transaction"
