"""The renderer's output is exactly that of the closed public models."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from libs.contracts.tests.examples import (
    ALICE,
    AT,
    DOLLAR,
    ETHER,
    NATIVE,
    USDC,
    a_quote,
    a_swap_changed,
    an_input,
)
from swap_contracts.public.absent_assets import NO_DATE
from swap_contracts.public.catalogue import NetworkFacts, PublicCatalogue, TokenFacts
from swap_contracts.public.models import PreparedSwapModel, QuotedModel, WebhookPayloadModel
from swap_contracts.public.rendering import render_prepared_swap, render_quoted, render_webhook
from swap_contracts.swaps import SwapTransaction

E10 = 10**10  # base units of an ether's smallest shown amount


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
        parsed = PreparedSwapModel.model_validate_json(orjson.dumps(rendered()))

        assert parsed.model_fields_set == set(PreparedSwapModel.model_fields)

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

    @given(st.integers(0, 10**22), st.integers(0, 10**22))
    @example(15 * 10**9, 15 * 10**9)  # one and a half of the smallest shown amount, twice
    @pytest.mark.fault("M2")
    def test_the_parts_of_a_fee_add_up_to_the_total(self, blockchain: int, service: int) -> None:
        fees = {
            "blockchain_fee_base_units": str(blockchain),
            "service_fee_base_units": str(service),
            "total_fee_base_units": str(blockchain + service),
        }
        shown = render_quoted(a_quote(**fees), CATALOGUE)["quote"]

        parts = [round(shown[name] * 10**8) for name in ("blockchain_fee", "service_fee")]
        assert sum(parts) == round(shown["total_fee"] * 10**8) == -(-(blockchain + service) // E10)
        assert parts[0] == -(-blockchain // E10)
        assert parts[1] in {service // E10, -(-service // E10)}

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
        parsed = QuotedModel.model_validate_json(orjson.dumps(render_quoted(a_quote(), CATALOGUE)))

        assert parsed.model_fields_set == set(QuotedModel.model_fields)


def catalogue_without(network: str, token: str | None = None) -> PublicCatalogue:
    """Return the catalogue after a network, or one of its tokens, has left it."""
    networks = dict(CATALOGUE.networks)
    left = networks.pop(network)
    if token is not None:
        tokens = {address: facts for address, facts in left.tokens.items() if address != token}
        networks[network] = NetworkFacts(left.native, tokens, left.members)
    return PublicCatalogue(networks)


def an_output(**changes: Any) -> SwapTransaction:
    values = {"type": "output", "asset": DOLLAR, "base_units": "2996000000", "status": "completed"}
    return an_input(**{**values, **changes})


class TestAssetsThatLeftTheCatalogue:
    """A swap is shown and its webhooks are sent, whatever the catalogue names today."""

    REFUELED = a_quote(refuel_in_source_base_units="10", refuel_base_units="100000000000000")
    DONE = a_swap_changed(
        status="completed", quote=REFUELED, closed_at=AT, transactions=(an_input(), an_output())
    )

    @pytest.mark.parametrize(
        "catalogue",
        [
            catalogue_without(DOLLAR.network, USDC),
            catalogue_without(DOLLAR.network),
            catalogue_without(ETHER.network),
            PublicCatalogue({}),
        ],
        ids=["the token", "the destination", "the source", "everything"],
    )
    def test_are_shown_by_the_closed_models_with_the_same_amounts(
        self, catalogue: PublicCatalogue
    ) -> None:
        before = render_prepared_swap(self.DONE, CATALOGUE, heads={})
        answer = render_prepared_swap(self.DONE, catalogue, heads={})
        payload = render_webhook(self.DONE, catalogue)

        PreparedSwapModel.model_validate_json(orjson.dumps(answer))
        WebhookPayloadModel.model_validate_json(orjson.dumps(payload))
        assert amounts(answer) == amounts(before)
        assert payload["quote"] == answer["quote"]

    def test_a_token_is_its_address_with_the_decimals_and_the_price_of_its_swap(self) -> None:
        answer = render_prepared_swap(self.DONE, catalogue_without(DOLLAR.network, USDC), heads={})

        token = answer["swap"]["destination_token"]
        assert token == answer["swap"]["transactions"][1]["token"]
        assert {token[name] for name in ("symbol", "display_asset", "asset", "contract")} == {USDC}
        assert (token["decimals"], token["precision"], token["price_in_usd"]) == (6, 6, 1.0)
        assert token["listing_date"] == NO_DATE
        assert answer["swap"]["destination_network"] == before_network(DOLLAR.network)

    def test_a_network_keeps_its_name_and_has_no_nodes(self) -> None:
        network = rendered_without(ETHER.network)["swap"]["source_network"]

        assert (network["name"], network["display_name"]) == (ETHER.network, ETHER.network)
        assert network["chain_id"] is network["node_url"] is network["nodes"] is None
        assert network["token"]["contract"] is None
        assert (network["token"]["symbol"], network["token"]["price_in_usd"]) == (NATIVE, 3000.0)

    def test_an_absent_token_of_many_decimals_is_cut_off_as_the_catalogue_would(self) -> None:
        gone = DOLLAR.model_copy(update={"decimals": 18})
        quote = a_quote(destination=gone, receive_base_units="1999999999999999999")
        answer = render_quoted(quote, catalogue_without(DOLLAR.network, USDC))

        assert answer["quote"]["destination_token"]["precision"] == 8
        assert answer["quote"]["receive_amount"] == 1.99999999


def rendered_without(network: str) -> dict[str, Any]:
    swap = TestAssetsThatLeftTheCatalogue.DONE
    return render_prepared_swap(swap, catalogue_without(network), heads={})


def before_network(name: str) -> Any:
    shown = render_prepared_swap(TestAssetsThatLeftTheCatalogue.DONE, CATALOGUE, heads={})
    return shown["swap"]["destination_network" if name == DOLLAR.network else "source_network"]


def amounts(answer: dict[str, Any]) -> list[Any]:
    """Return every number of an answer that is an amount or its worth."""
    quote = {name: value for name, value in answer["quote"].items() if isinstance(value, float)}
    swap, refuel = answer["swap"], answer.get("refuel") or {}
    shown = [(one["amount"], one["amount_in_usd"]) for one in swap["transactions"]]
    return [quote, swap["requested_amount"], shown, refuel.get("amount")]


class TestWebhook:
    def test_carries_the_sequence_so_that_a_receiver_can_order(self) -> None:
        payload = render_webhook(a_swap_changed(sequence=5), CATALOGUE)

        assert payload["swap"]["metadata"]["sequence"] == 5
        assert set(payload) == {"swap", "quote", "deposit_actions"}
        assert payload["deposit_actions"] == []
