"""How an app joins the test bench, and the defaults of its form."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse

from swap_dashboard.adapters.api import BASE as API
from swap_dashboard.adapters.api import HttpApi
from swap_dashboard.adapters.bench import HttpBench
from swap_dashboard.http.bench import (
    default_asset,
    outcome_of,
    swap_body,
    to_filled_form,
    unmet_requirements,
)
from swap_dashboard.ports import ApiRefused, BenchOutcome, BenchRefused, BenchUnavailable
from swap_dashboard.usecases.join_bench import JoinBench
from tests.support.serving import get, post, serve

APP = {"id": "a", "name": "web"}
BENCH = "/bench/apps/a"
COIN = {"symbol": "ETH", "contract": None}
TOKEN = {"symbol": "USDC", "contract": "0x1"}


class Joining:
    """An api and a bench that record the requests that change something, in order."""

    def __init__(self, *, is_played: bool = False, bench_status: int = 200) -> None:
        self.paths: list[str] = []
        self.body: Any = None
        self._is_played = is_played
        self._bench_status = bench_status

    async def show(self, _: Request) -> JSONResponse:
        return JSONResponse({"is_played": self._is_played})

    async def add(self, request: Request) -> JSONResponse:
        self.paths.append(request.url.path)
        return JSONResponse({"error": "no"}, self._bench_status)

    async def post(self, request: Request) -> JSONResponse:
        self.paths.append(request.url.path)
        self.body = await request.json()
        return JSONResponse({"data": {"id": "k", "key": "svc_test_1"}, "error": None})

    async def join(self) -> None:
        routes = [
            get(BENCH, self.show),
            post(BENCH, self.add),
            post(API + "/{path:path}", self.post),
        ]
        async with serve(Starlette(routes=routes)) as url:
            api, bench = HttpApi(url, answer_seconds=5, streams_max=1), HttpBench(url)
            try:
                await JoinBench(bench)(api.as_member("token"), APP, lifetime_seconds=45)
            finally:
                await api.close()
                await bench.close()


class TestJoining:
    async def test_sets_the_lifetime_after_the_key_is_accepted(self) -> None:
        both = Joining()

        await both.join()

        assert both.paths == [f"{API}/apps/a/keys", BENCH, f"{API}/apps/a"]
        assert both.body == {"swap_lifetime_seconds": 45}  # the name was read earlier

    @pytest.mark.parametrize(("status", "trouble"), [(503, BenchUnavailable), (422, BenchRefused)])
    async def test_revokes_the_key_when_the_bench_does_not_accept_it(
        self, status: int, trouble: type[Exception]
    ) -> None:
        both = Joining(bench_status=status)

        with pytest.raises(trouble):
            await both.join()

        assert both.paths == [f"{API}/apps/a/keys", BENCH, f"{API}/keys/k/revoke"]

    async def test_does_nothing_for_an_app_that_joined_before(self) -> None:
        both = Joining(is_played=True)

        await both.join()

        assert both.paths == []


SLOW = BenchOutcome("slow", "0x1", "", "", "", source_token="DAI", amount_min=10_000)
UNSIGNED = BenchOutcome("partial", "0x1", "", "", "", gasless=False)
FAILING = BenchOutcome(
    "payout_fails", "0x1", "", "", "", destination_tokens=["ETH"], refund_address=True
)


@pytest.mark.parametrize(
    ("outcome", "fields", "unmet_fields"),
    [
        (SLOW, {"source": "ONE/DAI", "amount": "10000"}, []),
        (SLOW, {"source": "ONE/DAI", "amount": "9999.9"}, ["amount"]),
        (SLOW, {"source": "ONE/DAI", "amount": "much"}, []),  # the api has the words
        (SLOW, {"source": "ONE/ETH", "amount": "10000"}, ["source"]),
        (UNSIGNED, {"method": "direct"}, []),
        (UNSIGNED, {"method": "gasless"}, ["method"]),
        (FAILING, {"destination": "ONE/ETH", "refund_address": "0x2"}, []),
        (FAILING, {"destination": "ONE/DAI"}, ["destination", "refund_address"]),
    ],
)
def test_form_names_the_fields_that_prevent_the_outcome(
    outcome: BenchOutcome, fields: dict[str, str], unmet_fields: list[str]
) -> None:
    assert list(unmet_requirements(fields, outcome)) == unmet_fields


def test_swap_that_the_member_pays_goes_to_the_entered_recipient() -> None:
    fields = {"outcome": "own", "recipient": " 0x9 ", "source": "ONE/ETH", "method": "direct"}
    outcome = outcome_of(fields, {"slow": SLOW})

    assert outcome is not None
    assert unmet_requirements(fields, outcome) == {}
    assert swap_body(fields, outcome)["destination_address"] == "0x9"
    assert outcome_of({"outcome": "slow", "recipient": "0x9"}, {"slow": SLOW}) is SLOW
    assert outcome_of({"outcome": "wonder"}, {"slow": SLOW}) is None


@pytest.mark.parametrize(("outcome", "field"), [("own", "recipient"), ("slow", "outcome")])
def test_refused_recipient_is_shown_beside_the_field_that_named_it(
    outcome: str, field: str
) -> None:
    error = ApiRefused(422, "BLACKLISTED_ADDRESS", "It is blocked")

    assert to_filled_form({"outcome": outcome}, error).problems == {field: "It is blocked"}


@pytest.mark.parametrize(
    ("networks", "asset"),
    [
        ([{"name": "ONE", "tokens": [TOKEN, COIN]}], "ONE/ETH"),
        ([{"name": "ONE", "tokens": [TOKEN]}], "ONE/USDC"),
        ([{"name": "ONE", "tokens": []}], ""),
        ([], ""),
    ],
)
def test_default_asset_is_a_native_token_or_the_first_one(networks: Any, asset: str) -> None:
    assert default_asset(networks) == asset
