from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from swapctl.message_trail import OutboxMessage, collect_marks, is_about_swap, timeline

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SWAP_ID = "6b7e0a52-7a3c-4a4e-9d5a-3b8a5a0f7a01"
OUTPUT_HASH = "0x" + "ab" * 32
DEPOSIT_ADDRESS, RECEIVER = "0x" + "d1" * 20, "0x" + "ec" * 20


def stored(body: dict[str, Any], **members: Any) -> OutboxMessage:
    payload = json.dumps({"body": body}, separators=(",", ":")).encode()
    return OutboxMessage(
        **{
            "source": "settler",
            "id": 1,
            "topic": "swap.changed.v1",
            "key": SWAP_ID,
            "payload": payload,
            "created_at": NOW,
            "published_at": None,
            **members,
        }
    )


REQUESTED = stored({"type": "SwapRequested", "sequence_number": 123}, source="api")
CHANGED = stored(
    {
        "sequence": 4,
        "status": "completed",
        "method": "deposit_address",
        "transactions": [
            {
                "type": "input",
                "status": "completed",
                "transaction_hash": None,
                "to_address": DEPOSIT_ADDRESS,
            },
            {
                "type": "output",
                "status": "completed",
                "transaction_hash": OUTPUT_HASH,
                "to_address": RECEIVER,
            },
        ],
    },
    created_at=NOW + timedelta(milliseconds=250),
    published_at=NOW + timedelta(milliseconds=253),
)


def a_movement(**body: Any) -> OutboxMessage:
    movement = {"state": "seen", "base_units": "5", "token": "0x0", "transaction_hash": "0x1"}
    return stored({**movement, **body}, key="other", source="chain_watcher")


class TestBelongs:
    def test_selects_messages_with_the_swaps_number_or_transactions(self) -> None:
        marks = collect_marks(SWAP_ID, [REQUESTED, CHANGED])

        assert is_about_swap(REQUESTED, marks)
        assert is_about_swap(a_movement(sequence_number=123), marks)
        assert is_about_swap(a_movement(transaction_hash=OUTPUT_HASH), marks)

    def test_selects_messages_with_the_swaps_deposit_address(self) -> None:
        assigned = stored({"address": DEPOSIT_ADDRESS}, key="BASE_DEVNET")
        marks = collect_marks(SWAP_ID, [REQUESTED, CHANGED]).of_own_addresses([assigned])
        rise = a_movement(to_address=DEPOSIT_ADDRESS, transaction_hash=None)
        swept = a_movement(from_address=DEPOSIT_ADDRESS, to_address="0x7ea")

        assert all(is_about_swap(row, marks) for row in (assigned, rise, swept))
        assert not is_about_swap(a_movement(to_address=RECEIVER), marks)
        assert DEPOSIT_ADDRESS.encode() in marks.search_terms()

    def test_a_treasury_is_no_deposit_address(self) -> None:
        """Neither that of another method, nor that to which an attached deposit was sent."""
        direct = stored({**CHANGED.body, "method": "direct"})
        assigned = stored({"address": "0x" + "d2" * 20}, key="BASE_DEVNET")

        of_direct = collect_marks(SWAP_ID, [REQUESTED, direct])
        of_attached = collect_marks(SWAP_ID, [REQUESTED, CHANGED]).of_own_addresses([assigned])

        assert not is_about_swap(a_movement(to_address=DEPOSIT_ADDRESS), of_direct)
        assert not is_about_swap(a_movement(to_address=DEPOSIT_ADDRESS), of_attached)

    def test_excludes_messages_of_other_swaps(self) -> None:
        marks = collect_marks(SWAP_ID, [REQUESTED, CHANGED])

        assert not is_about_swap(a_movement(sequence_number=1234), marks)
        assert not is_about_swap(a_movement(transaction_hash=None, sequence_number=None), marks)

    def test_every_message_of_the_swap_holds_a_needle(self) -> None:
        marks = collect_marks(SWAP_ID, [REQUESTED, CHANGED])

        for row in (a_movement(sequence_number=123), a_movement(transaction_hash=OUTPUT_HASH)):
            assert any(needle in row.payload for needle in marks.search_terms())


class TestTimeline:
    def test_is_in_the_order_of_the_commits_with_distances(self) -> None:
        first, last = timeline([CHANGED, REQUESTED])

        assert (first["after_ms"], first["says"]) == (0, "SwapRequested")
        assert (last["after_ms"], last["published_after_ms"]) == (250, 3)
        assert last["says"] == "#4 completed (input completed, output completed)"
