"""Rendered fees of an app: amounts with the token's digits, and links to the explorer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import orjson
import pytest

from swap_api.management.decide.app_fees import FeeBalance, FeeEntry, FeeEntryKind
from swap_api.management.http.fee_rendering import render_balance, render_entry
from swap_contracts.public.app_fees import AppFeesModel, FeeEntryModel
from swap_contracts.public.catalogue import NetworkFacts, PublicCatalogue, TokenFacts

NETWORK, TOKEN = "BASE_DEVNET", "0x5FbDB2315678afecb367f032d93F642f64180aa3"
PAYOUT = FeeEntry(
    id=uuid4(),
    kind=FeeEntryKind.PAYOUT,
    at=datetime(2026, 1, 1, tzinfo=UTC),
    network=NETWORK,
    token=TOKEN,
    base_units=1_234_567,
    swap_id=None,
    to_address="0x01",
    transaction_hash="0xabc",
    state="confirmed",
)


def a_catalogue(explorer: str = "https://explorer.example/tx/{0}") -> PublicCatalogue:
    members: dict[str, Any] = {"transaction_explorer_template": explorer}
    tokens = {TOKEN: TokenFacts(decimals=6, precision=2, members={"symbol": "USDC"})}
    return PublicCatalogue({NETWORK: NetworkFacts(TOKEN, tokens, members)})


def test_a_balance_is_the_public_model_and_cut_off_at_the_precision() -> None:
    shown = render_balance(FeeBalance(NETWORK, TOKEN, 1_239_999, 5, 0), a_catalogue())

    AppFeesModel.model_validate_json(orjson.dumps(shown))
    assert shown["token"] == "USDC"
    assert shown["waiting"] == {
        "amount": 1.23,
        "amount_in_base_units": "1239999",
        "decimals": 6,
    }
    assert shown["earned"]["amount"] == 1.24


def test_an_entry_links_its_transaction() -> None:
    shown = render_entry(PAYOUT, a_catalogue())

    FeeEntryModel.model_validate_json(orjson.dumps(shown))
    assert shown["transaction_url"] == "https://explorer.example/tx/0xabc"


@pytest.mark.parametrize(
    ("entry", "explorer"),
    [
        (PAYOUT, ""),
        (replace(PAYOUT, transaction_hash=None, state="reserved"), "https://explorer.example/{0}"),
    ],
)
def test_an_entry_without_explorer_or_transaction_has_no_link(
    entry: FeeEntry, explorer: str
) -> None:
    assert render_entry(entry, a_catalogue(explorer))["transaction_url"] is None


@pytest.mark.parametrize(
    ("state", "status"),
    [("reserved", "pending"), ("broadcast", "pending"), ("confirmed", "completed"),
     ("dead", "failed"), (None, None)],
)  # fmt: skip
def test_an_entry_says_how_far_a_payout_is(state: str | None, status: str | None) -> None:
    assert render_entry(replace(PAYOUT, state=state), a_catalogue())["status"] == status


def test_a_token_that_left_the_catalogue_is_its_address_and_base_units() -> None:
    gone = "0x00000000000000000000000000000000000000aa"
    balance = render_balance(FeeBalance(NETWORK, gone, 1_239_999, 5, 0), a_catalogue())
    entry = render_entry(replace(PAYOUT, token=gone), a_catalogue())

    AppFeesModel.model_validate_json(orjson.dumps(balance))
    FeeEntryModel.model_validate_json(orjson.dumps(entry))
    assert balance["token"] == entry["token"] == gone
    assert balance["earned"] == {
        "amount": None,
        "amount_in_base_units": "1240004",
        "decimals": None,
    }
    assert (entry["amount"], entry["amount_in_base_units"]) == (None, "1234567")


def test_a_network_that_left_the_catalogue_has_no_explorer() -> None:
    entry = render_entry(replace(PAYOUT, network="GONE"), a_catalogue())

    assert (entry["token"], entry["amount"]) == (TOKEN, None)
    assert entry["transaction_url"] is None
