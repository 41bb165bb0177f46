"""The renderer's output is exactly that of the closed public models."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from libs.contracts.tests.examples import (
    ALICE,
    DOLLAR,
    ETHER,
    NATIVE,
    USDC,
    a_quote,
    a_swap_changed,
    an_input,
)
from swap_contracts.public.catalogue import NetworkFacts, PublicCatalogue, TokenFacts
from swap_contracts.public.models import PreparedSwapModel, QuotedModel
from swap_contracts.public.rendering import render_prepared_swap, render_quoted, render_webhook


def a_token(symbol: str, contract: str | None, decimals: int, precision: int) -> TokenFacts:
    members = {
        "symbol": symbol,
        "display_asset": symbol,
        "asset": symbol,
        "logo": "",
        "contract": contract,
        "decimals": decimals,
        "precision": precision,
        "listing_date": "2026-01-01T00:00:00+00:00",
        "source_rank": 1,
        "destination_rank": 1,
        "group": None,
        "supports_gasless_deposit": False,
        "gasless_standard": "",
    }
    return TokenFacts(decimals=decimals, precision=precision, members=members)


def a_network(name: str, chain_id: str) -> NetworkFacts:
    members = {
        "name": name,
        "display_name": name,
        "logo": "",
        "chain_id": chain_id,
        "node_url": "http://127.0.0.1:8545",
        "nodes": ["http://127.0.0.1:8545"],
        "type": "evm",
        "transaction_explorer_template": "",
        "account_explorer_template": "",
        "source_rank": 1,
        "destination_rank": 1,
        "metadata": {
            "listing_date": "2026-01-01T00:00:00+00:00",
            "evm_oracle_contract": None,
            "evm_multicall_contract": None,
            "zks_paymaster_contract": None,
            "watchdog_contract": None,
        },
        "deposit_methods": ["wallet"],
    }
    tokens = {NATIVE: a_token("ETH", None, 18, 8), USDC: a_token("USDC", USDC, 6, 6)}
    return NetworkFacts(native=NATIVE, tokens=tokens, members=members)


CATALOGUE = PublicCatalogue(
    {
        ETHER.network: a_network(ETHER.network, "31337"),
        DOLLAR.network: a_network(DOLLAR.network, "31338"),
    }
)


def rendered(*, heads: dict[str, int] | None = None, **changes: Any) -> dict[str, Any]:
    return render_prepared_swap(a_swap_changed(**changes), CATALOGUE, heads=heads or {})


class TestPreparedSwap:
    def test_is_the_closed_public_model(self) -> None:
        PreparedSwapModel.model_validate_json(orjson.dumps(rendered()))

    def test_with_refuel_is_the_closed_public_model(self) -> None:
        quote = a_quote(refuel_in_source_base_units="10", refuel_base_units="100000000000000")
        answer = rendered(quote=quote)

        PreparedSwapModel.model_validate_json(orjson.dumps(answer))
        assert answer["refuel"]["amount"] == 0.0001

    @pytest.mark.fault("M2")
    def test_rounds_down_what_is_paid_and_up_what_is_charged(self) -> None:
        quote = rendered()["quote"]

        assert quote["receive_amount"] == 2996.0
        assert quote["total_fee"] == 0.00133334
        assert quote["total_fee_in_usd"] == 4.0
        assert quote["rate"] == 3000.0
        assert quote["slippage"] == 0.005

    def test_returns_the_completion_time_in_three_parts(self) -> None:
        assert rendered()["quote"]["avg_completion_time"] == "00:00:12.500"

    def test_names_the_sender_from(self) -> None:
        transaction = rendered()["swap"]["transactions"][0]

        assert transaction["from"] == ALICE
        assert "from_" not in transaction

    @pytest.mark.parametrize(
        ("head", "confirmations"), [(None, 0), (6, 0), (7, 1), (8, 2), (9, 3), (99, 3)]
    )
    def test_counts_confirmations_from_the_watched_head(
        self, head: int | None, confirmations: int
    ) -> None:
        heads = {} if head is None else {ETHER.network: head}
        transaction = rendered(heads=heads)["swap"]["transactions"][0]

        assert transaction["confirmations"] == confirmations

    def test_a_final_transaction_has_all_confirmations_whatever_the_head(self) -> None:
        final = an_input(status="completed")
        transaction = rendered(transactions=(final,))["swap"]["transactions"][0]

        assert transaction["confirmations"] == transaction["max_confirmations"] == 3

    @pytest.mark.parametrize(
        ("status", "locked_at", "is_refreshable"),
        [
            ("user_transfer_pending", None, True),
            ("user_transfer_pending", "2026-01-01T00:00:00Z", False),
            ("completed", None, False),
        ],
    )
    def test_a_quote_is_refreshable_only_while_waiting_for_funds(
        self, status: str, locked_at: str | None, is_refreshable: bool
    ) -> None:
        swap = rendered(status=status, quote_locked_at=locked_at)["swap"]

        assert swap["quote_refreshable"] is is_refreshable


class TestQuoted:
    def test_is_the_closed_public_model(self) -> None:
        QuotedModel.model_validate_json(orjson.dumps(render_quoted(a_quote(), CATALOGUE)))


class TestWebhook:
    def test_carries_the_sequence_so_that_a_receiver_can_order(self) -> None:
        payload = render_webhook(a_swap_changed(sequence=5), CATALOGUE)

        assert payload["swap"]["metadata"]["sequence"] == 5
        assert set(payload) == {"swap", "quote", "deposit_actions"}
        assert payload["deposit_actions"] == []
