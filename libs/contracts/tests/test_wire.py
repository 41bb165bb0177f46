"""The wire form of every message, pinned: a change here changes every other service."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

import swap_contracts
from libs.contracts.tests.examples import ALICE, HASH, TREASURY, USDC, a_swap_changed
from swap_contracts import topics
from swap_contracts.deposits import DepositChanged, DepositHinted, DepositTargetAssigned
from swap_contracts.envelope import Message, Topic
from swap_contracts.payouts import PayoutChanged
from swap_contracts.swaps import InventoryChanged, RefundAddressSet, SwapTiming

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DEPOSIT_ID = UUID("22222222-2222-4222-8222-222222222222")
SWAP_ID = UUID("7d1f6a52-3f0e-4b57-9f6e-0d6f0c3f9a11")

DEPOSIT = DepositChanged(
    deposit_id=DEPOSIT_ID,
    version=1,
    state="seen",
    kind="deposited",
    network="ETHEREUM_DEVNET",
    transaction_hash=HASH,
    block_number=7,
    block_hash=HASH,
    block_time=AT,
    from_address=ALICE,
    to_address=TREASURY,
    token=USDC,
    base_units="1000000",
    confirmations_required=1,
    sequence_number=42,
)
PAYOUT = PayoutChanged(
    intent_id=str(2**256 - 1),
    version=2,
    state="confirmed",
    network="BASE_DEVNET",
    transaction_hash=HASH,
    block_number=8,
    block_hash=HASH,
    block_time=AT,
    token=USDC,
    to_address=ALICE,
    base_units="999000",
)
PINNED: list[tuple[Topic[Any], Message, int | str, str, dict[str, Any]]] = [
    (
        topics.DEPOSIT_CHANGED,
        DEPOSIT,
        1,
        str(DEPOSIT_ID),
        {
            "deposit_id": str(DEPOSIT_ID),
            "version": 1,
            "state": "seen",
            "kind": "deposited",
            "network": "ETHEREUM_DEVNET",
            "transaction_hash": HASH,
            "block_number": 7,
            "block_hash": HASH,
            "block_time": "2026-01-02T03:04:05Z",
            "from_address": ALICE,
            "to_address": TREASURY,
            "token": USDC,
            "base_units": "1000000",
            "confirmations_required": 1,
            "quarantine_reason": None,
            "sequence_number": 42,
            "memo": None,
            "came_after": None,
        },
    ),
    (
        topics.PAYOUT_CHANGED,
        PAYOUT,
        2,
        f"BASE_DEVNET/{2**256 - 1}",
        {
            "intent_id": str(2**256 - 1),
            "version": 2,
            "state": "confirmed",
            "network": "BASE_DEVNET",
            "transaction_hash": HASH,
            "block_number": 8,
            "block_hash": HASH,
            "block_time": "2026-01-02T03:04:05Z",
            "token": USDC,
            "to_address": ALICE,
            "base_units": "999000",
        },
    ),
    (
        topics.DEPOSIT_HINTED,
        DepositHinted(network="BASE_DEVNET", transaction_hash=HASH),
        HASH,
        "BASE_DEVNET",
        {"network": "BASE_DEVNET", "transaction_hash": HASH},
    ),
    (
        topics.DEPOSIT_TARGET_ASSIGNED,
        DepositTargetAssigned(network="BASE_DEVNET", address=ALICE, since=AT),
        ALICE,
        "BASE_DEVNET",
        {"network": "BASE_DEVNET", "address": ALICE, "since": "2026-01-02T03:04:05Z"},
    ),
    (
        topics.INVENTORY_CHANGED,
        InventoryChanged(network="BASE_DEVNET", token=USDC, version=3, available_base_units="500"),
        3,
        f"BASE_DEVNET/{USDC}",
        {
            "network": "BASE_DEVNET",
            "token": USDC,
            "version": 3,
            "available_base_units": "500",
        },
    ),
    (
        topics.SWAP_REQUESTS,
        RefundAddressSet(swap_id=SWAP_ID, refund_address=ALICE),
        "refund-address",
        str(SWAP_ID),
        {"type": "RefundAddressSet", "swap_id": str(SWAP_ID), "refund_address": ALICE},
    ),
]


@pytest.mark.parametrize(("topic", "body", "version", "key", "wire"), PINNED)
def test_a_message_matches_its_wire_form(
    topic: Topic[Any], body: Message, version: int | str, key: str, wire: dict[str, Any]
) -> None:
    envelope = topic.seal(body, version=version, occurred_at=AT, trace_id="t")
    sent = json.loads(envelope.model_dump_json())

    assert sent["body"] == wire
    assert sent["key"] == key
    assert topic.envelope.model_validate_json(envelope.model_dump_json()) == envelope


def test_the_same_version_of_the_same_thing_has_the_same_message_id() -> None:
    first = topics.DEPOSIT_CHANGED.seal(DEPOSIT, version=1, occurred_at=AT, trace_id="a")
    again = topics.DEPOSIT_CHANGED.seal(DEPOSIT, version=1, occurred_at=AT, trace_id="b")
    newer = topics.DEPOSIT_CHANGED.seal(DEPOSIT, version=2, occurred_at=AT, trace_id="a")

    assert first.message_id == again.message_id != newer.message_id


@pytest.mark.fault("M10")
def test_readers_ignore_members_of_a_later_version() -> None:
    later = {**json.loads(DEPOSIT.model_dump_json()), "colour": "red"}

    assert DepositChanged.model_validate(later) == DEPOSIT


@pytest.mark.parametrize("amount", ["-1", "1.0", "1e3", "01", "", 5, 5.0, "9" * 79])
def test_an_amount_has_only_decimal_digits(amount: object) -> None:
    with pytest.raises(ValidationError):
        DepositChanged.model_validate({**DEPOSIT.model_dump(), "base_units": amount})


def test_a_swap_survives_the_wire() -> None:
    swap = a_swap_changed()
    envelope = topics.SWAP_CHANGED.seal(swap, version=2, occurred_at=AT, trace_id="t")

    assert topics.SWAP_CHANGED.envelope.model_validate_json(envelope.model_dump_json()).body == swap


def test_every_topic_has_a_schema_file() -> None:
    folder = Path(swap_contracts.__file__).parent / "schemas"

    assert {path.stem for path in folder.glob("*.json")} == {t.name for t in topics.TOPICS}


def test_swap_timing_is_read_from_swap_changed() -> None:
    swap = a_swap_changed()
    raw = topics.SWAP_CHANGED.seal(swap, version=2, occurred_at=AT, trace_id="t").model_dump_json()

    read = topics.SWAP_TIMING.envelope.model_validate_json(raw)

    members = swap.model_dump()
    transactions = [{"type": t.type, "at": t.at} for t in swap.transactions]
    whole = {**members, "transactions": tuple(transactions)}
    assert read.body.model_dump() == {name: whole[name] for name in SwapTiming.model_fields}
    assert topics.SWAP_TIMING.key(read.body) == topics.SWAP_CHANGED.key(swap)
