"""A swap's ledger as it is shown, also after one of its tokens has left the catalogue."""

from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

import orjson
import pytest

from swap_api.swaps.adapters.history_rendering import render_ledger
from swap_api.swaps.decide.history import Posting
from swap_contracts.public.catalogue import NetworkFacts, PublicCatalogue, TokenFacts
from swap_contracts.public.lookups import LedgerTransactionModel

TOKEN, GONE = "0x" + "11" * 20, "0x" + "aa" * 20
KNOWN = TokenFacts(decimals=6, precision=2, members={"symbol": "USDC"})
PUBLIC = PublicCatalogue({"NET": NetworkFacts(TOKEN, MappingProxyType({TOKEN: KNOWN}), {})})


def shown(token: str, network: str = "NET") -> dict[str, Any]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    line = Posting(
        UUID(int=1), "deposit_credited", at, network, 7, "position", network, token, -1_239_999
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
