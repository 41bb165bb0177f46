"""Sources and destinations of swaps, for forms in which a user selects a route."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_factories import USDC, a_catalogue_document
from api_harness import Harness

from swap_api.model.keys import Environment
from swap_contracts.public.models import ReachableNetworkModel

pytestmark = pytest.mark.connected

RULE: dict[str, Any] = {
    "service_fee_basis_points": 10,
    "slippage_ppm": 5000,
    "min_usd": "1",
    "max_usd": "50000",
    "estimated_seconds": 10,
}
# Coins go to tokens on BASE_DEVNET; the opposite route is closed; no other route is listed.
ROUTES = [
    {**RULE, "source": "*/ETH", "destination": "BASE_DEVNET/USDC"},
    {**RULE, "source": "BASE_DEVNET/USDC", "destination": "*/ETH", "closed": True},
]


@pytest.fixture
def catalogue_file(tmp_path: Path) -> Path:
    file = tmp_path / "catalogue.yaml"
    file.write_text(json.dumps(a_catalogue_document(routes=ROUTES)))
    return file


def shown(answer: httpx.Response) -> dict[str, dict[str, str]]:
    """Return the status of every token by its network, after a check of the whole answer."""
    assert answer.status_code == 200, answer.text
    networks = [ReachableNetworkModel.model_validate(one) for one in answer.json()["data"]]
    return {n.name: {token.symbol: token.status for token in n.tokens} for n in networks}


class TestDestinations:
    async def test_are_everything_that_some_route_ends_at(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/destinations")

        assert shown(answer) == {"BASE_DEVNET": {"USDC": "active"}}

    @pytest.mark.parametrize("network", ["ETHEREUM_DEVNET", "31337"])
    @pytest.mark.parametrize("token", ["ETH", "0x0000000000000000000000000000000000000000"])
    async def test_are_what_a_token_can_become(
        self, api: Harness, network: str, token: str
    ) -> None:
        app = await api.an_app()

        answer = await api.get(
            app, "/destinations", params={"source_network": network, "source_token": token}
        )

        assert shown(answer) == {"BASE_DEVNET": {"USDC": "active"}}

    async def test_of_a_network_are_listed_without_a_token(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/destinations", params={"source_network": "BARE_DEVNET"})

        assert shown(answer) == {"BASE_DEVNET": {"USDC": "active"}}

    async def test_include_inactive_and_unreachable_tokens_on_request(self, api: Harness) -> None:
        app = await api.an_app()
        params = {
            "source_network": "BASE_DEVNET",
            "source_token": USDC.lower(),
            "include_unavailable": "true",
            "include_unmatched": "true",
        }

        answer = await api.get(app, "/destinations", params=params)

        assert shown(answer) == {
            name: {"ETH": "inactive", "USDC": "not_found"}
            for name in ("ETHEREUM_DEVNET", "BASE_DEVNET", "BARE_DEVNET")
        }

    async def test_through_a_deposit_address_are_none_where_no_network_offers_one(
        self, api: Harness
    ) -> None:
        app = await api.an_app()

        answers = [
            await api.get(
                app,
                "/destinations",
                params={"has_deposit_address": "true", "source_network": network},
            )
            for network in ("ETHEREUM_DEVNET", "BARE_DEVNET")
        ]

        assert [shown(answer) for answer in answers] == [{"BASE_DEVNET": {"USDC": "active"}}, {}]


class TestSources:
    async def test_are_what_can_become_a_token(self, api: Harness) -> None:
        app = await api.an_app()
        params = {"destination_network": "BASE_DEVNET", "destination_token": "usdc"}

        answer = await api.get(app, "/sources", params=params)

        assert shown(answer) == {
            name: {"ETH": "active"} for name in ("ETHEREUM_DEVNET", "BASE_DEVNET", "BARE_DEVNET")
        }

    async def test_are_filtered_by_the_type_of_their_network(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/sources", params={"network_types": "solana,ton"})

        assert shown(answer) == {}

    async def test_carry_prices(self, api: Harness) -> None:
        app = await api.an_app()
        await api.parts.swaps.refresh_prices.refresh()

        answer = await api.get(app, "/sources")

        [token] = answer.json()["data"][0]["tokens"]
        assert (token["symbol"], token["price_in_usd"]) == ("ETH", 3000)

    @pytest.mark.parametrize(
        ("params", "status", "code"),
        [
            ({"destination_token": "USDC"}, 400, "VALIDATION_ERROR"),
            ({"network_types": "nonsense"}, 400, "VALIDATION_ERROR"),
            ({"destination_network": "NOWHERE"}, 404, "ROUTE_NOT_FOUND_ERROR"),
            (
                {"destination_network": "BASE_DEVNET", "destination_token": "DOGE"},
                404,
                "ROUTE_NOT_FOUND_ERROR",
            ),
        ],
    )
    async def test_refuse_what_cannot_be_an_end(
        self, api: Harness, params: dict[str, str], status: int, code: str
    ) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/sources", params=params)

        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


class TestEveryList:
    @pytest.mark.parametrize("path", ["/sources", "/destinations"])
    async def test_is_empty_for_a_key_of_another_environment(self, api: Harness, path: str) -> None:
        app = await api.an_app(environment=Environment.LIVE)

        answer = await api.get(app, path)

        assert shown(answer) == {}

    @pytest.mark.parametrize("path", ["/source_exchanges", "/exchange_withdrawal_networks"])
    async def test_of_exchanges_is_empty(self, api: Harness, path: str) -> None:
        app = await api.an_app()

        answer = await api.get(app, path)

        assert answer.json() == {"data": [], "error": None}
