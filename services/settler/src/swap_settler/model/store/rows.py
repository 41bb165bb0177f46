"""Rows to domain and back. An amount is numeric in the database and int everywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from swap_contracts.tracing import trace_id_of
from swap_domain.authorization_status import AuthorizationStatus
from swap_domain.lifecycle import Status
from swap_domain.money import Asset
from swap_runtime.postgres.sql import Row
from swap_settler.model.authorization import Authorization
from swap_settler.model.changes import Changes, Halt
from swap_settler.model.ledger.inventory import Inventory
from swap_settler.model.store.statements import DEPOSIT_COLUMNS
from swap_settler.model.store.table_columns import Values
from swap_settler.model.swap import (
    Deposit,
    DepositState,
    FailReason,
    Intent,
    IntentKind,
    IntentState,
    Method,
    QuoteTerms,
    Swap,
    Terms,
)
from swap_settler.model.work_due import RefundDue, WorkDue


def to_swap(
    row: Row,
    deposits: Mapping[UUID, Deposit],
    intents: Mapping[UUID, Intent],
    authorization: Authorization | None = None,
) -> Swap:
    return Swap(
        id=row.id,
        terms=_to_terms(row),
        quote=_to_quote(row),
        status=Status(row.status),
        sequence=row.sequence,
        expires_at=row.expires_at,
        changed_at=row.changed_at,
        fail_reason=None if row.fail_reason is None else FailReason(row.fail_reason),
        closed_at=row.closed_at,
        deposits=deposits,
        intents=intents,
        authorization=authorization,
    )


def _to_terms(row: Row) -> Terms:
    return Terms(
        sequence_number=row.sequence_number,
        app_id=row.app_id,
        method=Method(row.method),
        source=Asset(row.source_network, row.source_token, row.source_decimals),
        destination=Asset(row.destination_network, row.destination_token, row.destination_decimals),
        source_address=row.source_address,
        destination_address=row.destination_address,
        refund_address=row.refund_address,
        reference_id=row.reference_id,
        created_at=row.created_at,
    )


def _to_quote(row: Row) -> QuoteTerms:
    return replace(
        QuoteTerms.of(row.quote, expires_at=row.quote_expires_at),
        revision=row.quote_revision,
        last_requoted_at=row.last_requoted_at,
        locked_at=row.quote_locked_at,
    )


def fields_of(row: Row, *amounts: str) -> dict[str, Any]:
    """Return a row by its columns, which are the fields of a domain class; the amounts as int."""
    fields: dict[str, Any] = row._asdict()
    return fields | {name: int(fields[name]) for name in amounts}


def to_deposit(row: Row) -> Deposit:
    fields = fields_of(row, "base_units", "returned_base_units")
    fields |= {"state": DepositState(row.state), "method": Method(row.method)}
    return Deposit(**fields)


def to_intent(row: Row, attempts: frozenset[str], *, has_open_attempt: bool) -> Intent:
    fields = fields_of(row, "base_units", "charged_base_units")
    fields |= {"kind": IntentKind(row.kind), "state": IntentState(row.state)}
    fields["paid_id"] = None if row.paid_id is None else int(row.paid_id)
    return Intent(**fields, attempts=attempts, has_open_attempt=has_open_attempt)


def to_inventory(row: Row) -> Inventory:
    return Inventory(
        row.network, row.token, int(row.held_base_units), int(row.owed_base_units), row.version
    )


def swap_row(swap: Swap) -> Values:
    terms, quote = swap.terms, swap.quote
    return {
        "id": swap.id,
        "app_id": terms.app_id,
        "sequence_number": terms.sequence_number,
        "match_key": swap.match_key,
        "sequence": swap.sequence,
        "status": swap.status.value,
        "method": terms.method.value,
        "source_network": terms.source.network,
        "source_token": terms.source.token,
        "source_decimals": terms.source.decimals,
        "destination_network": terms.destination.network,
        "destination_token": terms.destination.token,
        "destination_decimals": terms.destination.decimals,
        "source_address": terms.source_address,
        "destination_address": terms.destination_address,
        "refund_address": terms.refund_address,
        "reference_id": terms.reference_id,
        "requested_base_units": str(quote.requested_base_units),
        "payout_base_units": str(quote.payout_base_units),
        "fee_base_units": str(quote.fee_base_units),
        "quote": quote.document,
        "quote_revision": quote.revision,
        "quote_expires_at": quote.expires_at,
        "last_requoted_at": quote.last_requoted_at,
        "quote_locked_at": quote.locked_at,
        "fail_reason": swap.fail_reason and swap.fail_reason.value,
        "created_at": terms.created_at,
        "expires_at": swap.expires_at,
        "changed_at": swap.changed_at,
        "closed_at": swap.closed_at,
        "trace_id": trace_id_of(swap.id),
    }


def transition_row(changes: Changes, swap: Swap) -> Values:
    return {
        "swap_id": swap.id,
        "sequence": swap.sequence,
        "from_status": changes.previous_status and changes.previous_status.value,
        "to_status": swap.status.value,
        "at": swap.changed_at,
        "cause": changes.cause and changes.cause.value,
    }


def refund_due_row(due: RefundDue) -> Values:
    return {"network": due.network, "swap_id": due.swap_id, "deposit_id": due.leg}


def requote_due_rows(due: WorkDue) -> Sequence[Values]:
    return [{"swap_id": id} for id in due.requotes]


def completion_due_rows(due: WorkDue) -> Sequence[Values]:
    return [{"swap_id": id, "due_at": at} for id, at in due.completions.items()]


def deposit_row(deposit: Deposit) -> Values:
    return DEPOSIT_COLUMNS.row(deposit, heard_at=deposit.received_at)


def to_authorization(row: Row) -> Authorization:
    fields = fields_of(row, "base_units")
    del fields["swap_id"]
    fields["status"] = AuthorizationStatus(row.status)
    return Authorization(**fields)


def halt_rows(changes: Sequence[Changes]) -> Sequence[Values]:
    """Return one row per network, with every reason of the batch once."""
    halts: dict[str, list[Halt]] = {}
    for halt in (c.halt for c in changes if c.halt is not None):
        halts.setdefault(halt.network, []).append(halt)
    return [
        {"network": network, "reason": _reasons(of), "at": _newest(of)}
        for network, of in halts.items()
    ]


def evidence_row(changes: Sequence[Changes]) -> Values | None:
    """Return why a recovery begins; None where nothing shows that the database was restored."""
    found = [c.halt for c in changes if c.halt is not None and c.halt.is_evidence]
    if not found:
        return None
    return {"cause": "evidence", "reason": _reasons(found), "at": _newest(found)}


def _reasons(halts: Sequence[Halt]) -> str:
    return "; ".join(dict.fromkeys(halt.reason for halt in halts))


def _newest(halts: Sequence[Halt]) -> datetime | None:
    """Return the time of the newest block; None where a halt names none."""
    times = [halt.at for halt in halts if halt.at is not None]
    return max(times) if len(times) == len(halts) else None
