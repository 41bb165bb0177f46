"""A swap's ledger: the order of its entries, and amounts of known and of unknown tokens."""

from __future__ import annotations

import ast
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import orjson
import pytest

from swap_api.swaps.adapters.history_rendering import render_ledger
from swap_api.swaps.decide.history import REASONS, Posting, in_order
from swap_contracts.public.catalogue import NetworkFacts, PublicCatalogue, TokenFacts
from swap_contracts.public.lookups import LedgerTransactionModel

LEDGER = (
    Path(__file__).parents[3]
    / "settler"
    / "src"
    / "swap_settler"
    / "model"
    / "ledger"
    / "ledger.py"
)
KINDS = ("payout", "refund", "refuel", "claim")
TOKEN, GONE = "0x" + "11" * 20, "0x" + "aa" * 20
KNOWN = TokenFacts(decimals=6, precision=2, members={"symbol": "USDC"})
PUBLIC = PublicCatalogue({"NET": NetworkFacts(TOKEN, MappingProxyType({TOKEN: KNOWN}), {})})


def shown(token: str, network: str = "NET") -> dict[str, Any]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    line = Posting(
        transaction_id=UUID(int=1),
        reason="credited",
        at=at,
        network=network,
        block_number=7,
        account="position",
        asset_network=network,
        asset_token=token,
        base_units=-1_239_999,
    )
    [entry] = orjson.loads(render_ledger([line], PUBLIC))
    LedgerTransactionModel.model_validate_json(orjson.dumps(entry))
    [posting] = entry["postings"]
    return dict(posting)


def test_a_posting_is_cut_off_at_the_precision_towards_zero() -> None:
    posting = shown(TOKEN)

    assert (posting["token"], posting["amount"]) == ("USDC", -1.23)


@pytest.mark.parametrize(("network", "token"), [("NET", GONE), ("GONE", TOKEN)])
def test_a_posting_of_an_unknown_token_is_in_base_units(network: str, token: str) -> None:
    posting = shown(token, network)

    assert (posting["token"], posting["amount"]) == (token, None)
    assert posting["amount_in_base_units"] == "-1239999"


AT = datetime(2026, 1, 1, tzinfo=UTC)
IN_ORDER = ("credited", "returned", "quote_executed", "refuel_bought", "payout_reserved")


def an_entry(number: int, reason: str, at: datetime = AT) -> list[Posting]:
    line = Posting(UUID(int=number), reason, at, None, None, "position", "NET", TOKEN, 1)
    return [line, replace(line, base_units=-1)]


def test_entries_of_one_time_follow_from_each_other_whatever_their_ids() -> None:
    for order in permutations(range(len(IN_ORDER))):
        entries = [an_entry(n, reason) for n, reason in zip(order, IN_ORDER, strict=True)]
        by_id = sorted(entries, key=lambda entry: entry[0].transaction_id)

        placed = in_order(line for entry in by_id for line in entry)

        assert [line.reason for line in placed[::2]] == list(IN_ORDER)
        assert [line.base_units for line in placed] == [1, -1] * len(IN_ORDER)


def test_entries_follow_their_time_before_their_reason() -> None:
    later = AT + timedelta(seconds=1)

    placed = in_order([*an_entry(1, "credited", later), *an_entry(2, "payout_reserved")])

    assert [line.reason for line in placed[::2]] == ["payout_reserved", "credited"]


def reasons_of(booking: ast.Call) -> set[str]:
    """Return the reasons that a call of the ledger's `_transaction` or `_transactions` names."""
    parts = ast.walk(booking.args[0])
    constants = {str(one.value) for one in parts if isinstance(one, ast.Constant)}
    is_of_a_payment = isinstance(booking.args[0], ast.JoinedStr)
    return {f"{kind}{end}" for kind in KINDS for end in constants} if is_of_a_payment else constants


def test_every_reason_of_a_swaps_entry_has_a_place() -> None:
    calls = [one for one in ast.walk(ast.parse(LEDGER.read_text())) if isinstance(one, ast.Call)]
    bookings = [
        call
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id in ("_transaction", "_transactions")
        and any(keyword.arg == "swap_id" for keyword in call.keywords)
    ]
    named = {reason for call in bookings for reason in reasons_of(call)}

    assert named == set(REASONS)
