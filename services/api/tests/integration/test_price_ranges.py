"""Costs of a route by amount, in detail and for clients of the first version."""

from __future__ import annotations

from typing import Any

import pytest
from api_factories import USDC
from api_harness import Harness

from swap_api.swaps.ports import PriceRefused
from swap_contracts.public.models import DetailedQuoteModel, RateModel

pytestmark = pytest.mark.connected

ROUTE = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "USDC",
    "destination_network": "BASE_DEVNET",
    "destination_token": "USDC",
}
BODY: dict[str, Any] = {
    "source": "ETHEREUM_DEVNET",
    "destination": "BASE_DEVNET",
    "source_asset": "USDC",
    "refuel": False,
}
PATH = "/api/swap_rate"


class TestDetailedQuote:
    async def test_returns_the_cost_of_both_ends(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/detailed_quote", params=ROUTE)

        [one] = [DetailedQuoteModel.model_validate(item) for item in answer.json()["data"]]
        assert (one.min_amount, one.max_amount) == (0.001, 1_000_000)
        assert (one.fee_amount_for_min, one.fee_amount_for_max) == (0.00001, 10_000)
        assert (one.total_percentage_fee, one.total_fixed_fee_in_source) == (1, 0)
        [step] = one.path
        assert (step.provider_name, step.service_fee_percentage) == ("SOLVER", 1)
        assert step.avg_completion_milliseconds == one.avg_completion_milliseconds == 10_000

    async def test_is_empty_when_no_amount_can_be_paid(self, api: Harness) -> None:
        app = await api.an_app()
        api.quoter.is_empty = True

        answer = await api.get(app, "/detailed_quote", params=ROUTE)

        assert answer.json() == {"data": [], "error": None}

    @pytest.mark.parametrize(
        ("changes", "status", "code"),
        [
            ({"source_token": "DOGE"}, 404, "ROUTE_NOT_FOUND_ERROR"),
            ({"source_token": ""}, 400, "VALIDATION_ERROR"),
            ({"amount": "much"}, 400, "VALIDATION_ERROR"),
            (
                {"use_gasless": "true", "use_deposit_address": "true"},
                400,
                "CONFLICTING_FUNDING_METHODS",
            ),
        ],
    )
    async def test_refuses(
        self, api: Harness, changes: dict[str, str], status: int, code: str
    ) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/detailed_quote", params={**ROUTE, **changes})

        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


class TestSwapRate:
    @pytest.mark.parametrize("more", [{}, {"destination_asset": "USDC"}, {"refuel": True}])
    async def test_needs_no_key(self, api: Harness, more: dict[str, Any]) -> None:
        answer = await api.client.post(PATH, json={**BODY, **more})

        assert answer.status_code == 200
        assert answer.json()["error"] is None
        [rate] = [RateModel.model_validate(item) for item in answer.json()["data"]]
        assert (rate.min_amount, rate.fee_amount, rate.max_amount) == (0.001, 0.00001, 1_000_000)

    @pytest.mark.parametrize("missing", ["source", "destination", "source_asset", "refuel"])
    async def test_names_the_missing_parts(self, api: Harness, missing: str) -> None:
        body = {name: value for name, value in BODY.items() if name != missing}

        answer = await api.client.post(PATH, json=body)

        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["metadata"]["field_errors"] == {missing: "is missing"}

    async def test_takes_a_token_by_its_contract(self, api: Harness) -> None:
        body = {**BODY, "source_asset": USDC, "destination_asset": USDC.lower()}

        assert (await api.client.post(PATH, json=body)).status_code == 200

    async def test_reports_a_missing_price(self, api: Harness) -> None:
        api.quoter.refusal = PriceRefused("ROUTE_NOT_FOUND_ERROR", "Rate not available", None)

        answer = await api.client.post(PATH, json=BODY)

        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == "Rate not available"

    async def test_is_limited_by_address(self, api: Harness) -> None:
        answers = []
        for address in ("198.51.100.1", "198.51.100.1", "198.51.100.2"):
            api.client._transport.client = (address, 1)  # type: ignore[attr-defined]
            answers.append(await api.client.post(PATH, json=BODY))

        left = [answer.headers["ratelimit-remaining"] for answer in answers]
        assert left == ["239", "238", "239"]
