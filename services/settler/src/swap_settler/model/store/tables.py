"""The settler's own tables, as the migrations make them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine, UserDefinedType
from sqlmodel import Field, SQLModel

METADATA = MetaData()


class Xid8(UserDefinedType[int]):
    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "xid8"


class Table(SQLModel):
    metadata = METADATA


def _column(kind: TypeEngine[Any] | type[TypeEngine[Any]], *, key: bool, null: bool) -> Any:
    return Field(sa_column=Column(kind, primary_key=key, nullable=null))


def _text(*, key: bool = False, null: bool = False) -> Any:
    return _column(Text, key=key, null=null)


def _uuid(*, key: bool = False, null: bool = False) -> Any:
    return _column(Uuid, key=key, null=null)


def _int(*, key: bool = False) -> Any:
    return _column(Integer, key=key, null=False)


def _bigint(*, key: bool = False, null: bool = False) -> Any:
    return _column(BigInteger, key=key, null=null)


def _units(*, null: bool = False) -> Any:
    return _column(Numeric(78, 0), key=False, null=null)


def _at(*, null: bool = False) -> Any:
    return _column(DateTime(timezone=True), key=False, null=null)


def _bool() -> Any:
    return _column(Boolean, key=False, null=False)


class SwapRow(Table, table=True):
    __tablename__ = "swap"

    id: UUID = _uuid(key=True)
    app_id: UUID = _uuid()
    sequence_number: int = _bigint()
    match_key: str = _text()
    sequence: int = _int()
    status: str = _text()
    method: str = _text()
    source_network: str = _text()
    source_token: str = _text()
    source_decimals: int = _int()
    destination_network: str = _text()
    destination_token: str = _text()
    destination_decimals: int = _int()
    source_address: str | None = _text(null=True)
    destination_address: str = _text()
    refund_address: str | None = _text(null=True)
    reference_id: str | None = _text(null=True)
    requested_base_units: Decimal = _units()
    payout_base_units: Decimal = _units()
    fee_base_units: Decimal = _units()
    quote: dict[str, Any] = _column(JSONB, key=False, null=False)
    quote_revision: int = _int()
    quote_expires_at: datetime = _at()
    last_requoted_at: datetime | None = _at(null=True)
    quote_locked_at: datetime | None = _at(null=True)
    fail_reason: str | None = _text(null=True)
    created_at: datetime = _at()
    expires_at: datetime = _at()
    changed_at: datetime = _at()
    closed_at: datetime | None = _at(null=True)
    trace_id: str = _text()  # written for versions that read it


class SwapTransitionRow(Table, table=True):
    __tablename__ = "swap_transition"

    swap_id: UUID = _uuid(key=True)
    sequence: int = _int(key=True)
    from_status: str | None = _text(null=True)
    to_status: str = _text()
    at: datetime = _at()


class DepositRow(Table, table=True):
    __tablename__ = "deposit"

    id: UUID = _uuid(key=True)
    swap_id: UUID | None = _uuid(null=True)
    match_key: str | None = _text(null=True)
    version: int = _int()
    state: str = _text()
    method: str = _text()
    network: str = _text()
    token: str = _text()
    base_units: Decimal = _units()
    returned_base_units: Decimal = _units()
    is_booked: bool = _bool()
    transaction_hash: str | None = _text(null=True)
    block_number: int = _bigint()
    block_hash: str = _text()
    block_time: datetime = _at()
    from_address: str | None = _text(null=True)
    to_address: str = _text()
    confirmations_required: int = _int()
    sequence_number: int | None = _bigint(null=True)
    memo: str | None = _text(null=True)
    quarantine_reason: str | None = _text(null=True)
    heard_at: datetime = _at()
    attached_at: datetime | None = _at(null=True)
    attached_by: str | None = _text(null=True)
    attached_because: str | None = _text(null=True)
    came_after: datetime | None = _at(null=True)


class AccountRow(Table, table=True):
    __tablename__ = "account"

    id: int = _bigint(key=True)
    kind: str = _text()
    network: str = _text()
    token: str = _text()
    swap_id: UUID | None = _uuid(null=True)
    deposit_id: UUID | None = _uuid(null=True)
    holder: str | None = _text(null=True)
    address: str | None = _text(null=True)
    balance: Decimal = _units()
    app_id: UUID | None = _uuid(null=True)


class LedgerTransactionRow(Table, table=True):
    __tablename__ = "ledger_transaction"

    id: UUID = _uuid(key=True)
    kind: str = _text()
    swap_id: UUID | None = _uuid(null=True)
    dedupe_key: str = _text()
    network: str | None = _text(null=True)
    effective_block: int | None = _bigint(null=True)
    xid: int = _column(Xid8(), key=False, null=False)
    at: datetime = _at()


class PostingRow(Table, table=True):
    __tablename__ = "posting"

    transaction_id: UUID = _uuid(key=True)
    n: int = _int(key=True)
    account_id: int = _bigint()
    base_units: Decimal = _units()


class InventoryRow(Table, table=True):
    __tablename__ = "inventory"

    network: str = _text(key=True)
    token: str = _text(key=True)
    held_base_units: Decimal = _units()
    owed_base_units: Decimal = _units()
    version: int = _int()


class LedgerCursorRow(Table, table=True):
    __tablename__ = "ledger_cursor"

    network: str = _text(key=True)
    number: int = _bigint()


class BalanceSnapshotRow(Table, table=True):
    __tablename__ = "balance_snapshot"

    network: str = _text(key=True)
    address: str = _text(key=True)
    token: str = _text(key=True)
    block_number: int = _bigint(key=True)
    block_hash: str = _text()
    balance: Decimal = _units()


class IntentRow(Table, table=True):
    __tablename__ = "intent"

    id: UUID = _uuid(key=True)
    paid_id: Decimal | None = _units(null=True)
    swap_id: UUID | None = _uuid(null=True)
    deposit_id: UUID | None = _uuid(null=True)
    kind: str = _text()
    network: str = _text()
    token: str = _text()
    to_address: str = _text()
    base_units: Decimal = _units()
    charged_base_units: Decimal = _units()
    usd_micros: int | None = _bigint(null=True)
    state: str = _text()
    failures: int = _int()
    goes_alone: bool = _bool()
    due_at: datetime = _at()
    created_at: datetime = _at()
    slot_at: datetime | None = _at(null=True)
    transaction_hash: str | None = _text(null=True)
    block_number: int | None = _bigint(null=True)
    block_hash: str | None = _text(null=True)
    block_time: datetime | None = _at(null=True)
    version: int = _int()
    confirmed_at: datetime | None = _at(null=True)
    dead_proof: dict[str, Any] | None = _column(JSONB, key=False, null=True)
    ordered_by: str | None = _text(null=True)
    ordered_because: str | None = _text(null=True)
    payer: str | None = _text(null=True)
    call_data: bytes | None = _column(LargeBinary, key=False, null=True)
    not_after: datetime | None = _at(null=True)
    app_id: UUID | None = _uuid(null=True)
    reverts: int = _int()
    reverted_at: datetime | None = _at(null=True)


class GaslessAuthorizationRow(Table, table=True):
    __tablename__ = "gasless_authorization"

    swap_id: UUID = _uuid(key=True)
    submission: int = Field(sa_column=Column(Integer, primary_key=True))
    intent_id: UUID | None = _uuid(null=True)
    standard: str = _text()
    signer: str = _text()
    base_units: Decimal = _units()
    nonce: str = _text()
    valid_after: int = _bigint()
    valid_before: int = _bigint()
    status: str = _text()
    detail: str | None = _text(null=True)
    transaction_hash: str | None = _text(null=True)
    submitted_at: datetime = _at()


class RefundDueRow(Table, table=True):
    __tablename__ = "refund_due"

    id: int = _bigint(key=True)
    network: str = _text()
    swap_id: UUID = _uuid()
    deposit_id: UUID | None = _uuid(null=True)
    due_at: datetime = _at()
    since: datetime = _at()


class RequoteDueRow(Table, table=True):
    __tablename__ = "requote_due"

    swap_id: UUID = _uuid(key=True)
    due_at: datetime = _at()
    since: datetime = _at()


class CompletionDueRow(Table, table=True):
    __tablename__ = "completion_due"

    swap_id: UUID = _uuid(key=True)
    due_at: datetime = _at()


class SignerRow(Table, table=True):
    __tablename__ = "signer"

    network: str = _text(key=True)
    address: str = _text(key=True)
    next_nonce: int = _bigint()
    halted_reason: str | None = _text(null=True)
    halted_at: datetime | None = _at(null=True)
    resumed_at: datetime | None = _at(null=True)
    resumed_by: str | None = _text(null=True)
    resumed_reason: str | None = _text(null=True)


class PayoutStopRow(Table, table=True):
    __tablename__ = "payout_stop"

    id: int = _bigint(key=True)
    network: str = _text()
    stopped_at: datetime = _at()
    stopped_by: str = _text()
    stopped_because: str = _text()
    lifted_at: datetime | None = _at(null=True)
    lifted_by: str | None = _text(null=True)
    lifted_because: str | None = _text(null=True)


class StuckReportRow(Table, table=True):
    __tablename__ = "stuck_report"

    network: str = _text(key=True)
    stuck: int = _int()
    at: datetime = _at()


class NonceSlotRow(Table, table=True):
    __tablename__ = "nonce_slot"

    network: str = _text(key=True)
    signer: str = _text(key=True)
    nonce: int = _bigint(key=True)
    assigned_at: datetime = _at()
    closed_at: datetime | None = _at(null=True)
    final_number: int | None = _bigint(null=True)
    final_hash: str | None = _text(null=True)
    witnesses: dict[str, Any] | None = _column(JSONB, key=False, null=True)


class SlotIntentRow(Table, table=True):
    __tablename__ = "slot_intent"

    network: str = _text(key=True)
    signer: str = _text(key=True)
    nonce: int = _bigint(key=True)
    intent_id: UUID = _uuid(key=True)


class AttemptRow(Table, table=True):
    __tablename__ = "attempt"

    transaction_hash: str = _text(key=True)
    network: str = _text()
    signer: str = _text()
    nonce: int = _bigint()
    raw: bytes = _column(LargeBinary, key=False, null=False)
    max_fee_per_gas: Decimal = _units()
    max_priority_fee_per_gas: Decimal = _units()
    is_cancel: bool = _bool()
    signed_at: datetime = _at()
    first_sent_at: datetime | None = _at(null=True)
    last_sent_at: datetime | None = _at(null=True)


class ReceiptRow(Table, table=True):
    __tablename__ = "receipt"

    network: str = _text(key=True)
    transaction_hash: str = _text(key=True)
    block_hash: str = _text()
    block_number: int = _bigint()
    status: int = _int()
    fee_base_units: Decimal = _units()


class SignerTransactionRow(Table, table=True):
    __tablename__ = "signer_transaction"

    network: str = _text(key=True)
    signer: str = _text(key=True)
    nonce: int = _bigint(key=True)
    transaction_hash: str = _text()
