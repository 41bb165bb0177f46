"""Every answer is the envelope with the request id, readable by pages of other origins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_factories import a_body
from api_harness import Harness, start
from sqlalchemy import make_url

from swap_api.model.keys import KeyKind
from swap_contracts.public.explaining import ExplainedQuoteModel
from swap_contracts.public.models import (
    ApiErrorModel,
    HealthModel,
    LimitsModel,
    NetworkWithTokensModel,
    QuotedModel,
)

pytestmark = pytest.mark.connected

ROUTE = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "USDC",
}
PREFLIGHT = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}


def refusal(answer: httpx.Response) -> ApiErrorModel:
    """Return the error, after a check of the whole answer."""
    content = answer.json()
    assert set(content) == {"data", "error"}
    assert content["data"] is None
    error = ApiErrorModel.model_validate(content["error"])
    assert error.metadata["request_id"] == answer.headers["x-request-id"]
    assert error.metadata["doc_url"]
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["content-type"] == "application/json"
    return error


class TestEnvelope:
    @pytest.mark.parametrize(
        ("method", "path", "status", "code"),
        [
            ("GET", "/nowhere", 404, "NOT_FOUND"),
            ("GET", "/api/v2/nothing", 404, "NOT_FOUND"),
            ("GET", "/api/v2/swaps/", 404, "NOT_FOUND"),
            ("DELETE", "/api/v2/swaps", 405, "METHOD_NOT_ALLOWED"),
            ("POST", "/api/v2/health", 405, "METHOD_NOT_ALLOWED"),
            ("GET", "/api/v2/swaps/not-a-uuid", 400, "VALIDATION_ERROR"),
            ("GET", "/api/v2/networks?network_types=nonsense", 400, "VALIDATION_ERROR"),
            ("GET", "/api/v2/quote", 400, "VALIDATION_ERROR"),
        ],
    )
    async def test_is_around_every_refusal(
        self, api: Harness, method: str, path: str, status: int, code: str
    ) -> None:
        app = await api.an_app()

        answer = await api.client.request(method, path, headers=app.headers)

        assert (answer.status_code, refusal(answer).code) == (status, code)
        if status == 405:
            assert "OPTIONS" in answer.headers["allow"]

    @pytest.mark.parametrize(
        ("body", "headers", "status", "code"),
        [
            (b"{", {}, 400, "VALIDATION_ERROR"),
            (b"", {}, 400, "VALIDATION_ERROR"),
            (b"[]", {}, 400, "VALIDATION_ERROR"),
            (b"\xff\xfe", {}, 400, "VALIDATION_ERROR"),
            (b'{"amount": NaN}', {}, 400, "VALIDATION_ERROR"),
            (b'{"amount": 1e400}', {}, 400, "VALIDATION_ERROR"),
            (b"[" * 30_000, {}, 400, "VALIDATION_ERROR"),
            (b'{"amount": ' + b"9" * 60_000 + b"}", {}, 400, "VALIDATION_ERROR"),
            (b" " * 70_000, {}, 413, "PAYLOAD_TOO_LARGE"),
            (b"{}", {"content-type": "text/plain"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
            (b"a=1", {"content-type": "application/x-www-form-urlencoded"}, 415,
             "UNSUPPORTED_MEDIA_TYPE"),
        ],
    )  # fmt: skip
    @pytest.mark.fault("A12")
    async def test_a12_is_around_bodies_that_cannot_be_read(
        self, api: Harness, body: bytes, headers: dict[str, str], status: int, code: str
    ) -> None:
        app = await api.an_app()

        answer = await api.client.post(
            "/api/v2/swaps",
            content=body,
            headers={"content-type": "application/json", **app.headers, **headers},
        )

        assert (answer.status_code, refusal(answer).code) == (status, code)

    async def test_names_every_field_at_fault(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.create(app, {"amount": [], "use_depository": "perhaps"})

        fields = refusal(answer).metadata["field_errors"]
        assert fields["source_network"] == "is missing"
        assert fields["use_depository"] == "must be true or false"
        assert set(fields) >= {"amount", "destination_address", "destination_token"}

    @pytest.mark.fault("A13")
    async def test_a13_hides_the_details_of_an_internal_error(
        self, api: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = await api.an_app()

        async def fail(*_: Any) -> None:
            raise RuntimeError("postgresql://api:hunter2@db")

        monkeypatch.setattr(api.quoter, "quote", fail)
        answer = await api.get(app, "/quote", params={**ROUTE, "amount": "1"})

        assert (answer.status_code, refusal(answer).code) == (500, "UNEXPECTED_ERROR")
        assert "hunter2" not in answer.text

    async def test_is_there_while_postgres_is_away(
        self, database_url: str, catalogue_file: Path
    ) -> None:
        url = make_url(database_url).set(port=1).render_as_string(hide_password=False)
        api = start(url, "redis://127.0.0.1:1/0", catalogue_file)

        answer = await api.client.get("/api/v2/health", headers={"X-SVC-APIKEY": "svc_test_1"})

        assert (answer.status_code, refusal(answer).code) == (503, "SERVICE_UNAVAILABLE")
        await api.stop()


class TestCaches:
    @pytest.mark.parametrize("path", ["/swaps", "/quote", "/nothing", "/swaps/not-a-uuid"])
    async def test_do_not_store_answers_for_one_key(self, api: Harness, path: str) -> None:
        answer = await api.get(await api.an_app(), path)

        assert answer.headers["cache-control"] == "no-store"

    @pytest.mark.parametrize("path", ["/docs", "/docs/errors", "/openapi.json"])
    async def test_may_store_public_answers(self, api: Harness, path: str) -> None:
        assert "no-store" not in (await api.client.get(path)).headers.get("cache-control", "")


class TestRoot:
    async def test_leads_to_the_reference(self, api: Harness) -> None:
        answer = await api.client.get("/")

        assert (answer.status_code, answer.headers["location"]) == (302, "/docs")
        assert (await api.client.get(answer.headers["location"])).status_code == 200


class TestRequests:
    async def test_keep_the_id_they_bring(self, api: Harness) -> None:
        own_id = await api.client.get("/api/v2/health", headers={"X-Request-Id": "abc-1.2:3"})
        made = await api.client.get("/api/v2/health", headers={"X-Request-Id": "no spaces\t"})

        assert own_id.headers["x-request-id"] == "abc-1.2:3"
        assert len(made.headers["x-request-id"]) == 32

    async def test_may_repeat_slashes(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.client.get("http://api//api///v2//health", headers=app.headers)

        assert answer.status_code == 200

    async def test_may_have_any_content_type_on_a_get(self, api: Harness) -> None:
        app = await api.an_app()
        headers = {**app.headers, "content-type": "text/nonsense"}

        assert (await api.client.get("/api/v2/health", headers=headers)).status_code == 200

    async def test_may_have_blanks_behind_a_header(self, api: Harness) -> None:
        headers = {"X-SVC-APIKEY": f"{(await api.an_app()).key} \t", "X-Request-Id": "abc "}

        answer = await api.client.get("/api/v2/health", headers=headers)

        assert (answer.status_code, answer.headers["x-request-id"]) == (200, "abc")

    async def test_find_header_names_in_any_case(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.client.get("/api/v2/health", headers={"x-svc-apikey": app.key})

        assert answer.status_code == 200
        HealthModel.model_validate(answer.json()["data"])


class TestCors:
    async def test_preflight_needs_no_key(self, api: Harness) -> None:
        requested = (
            "X-SVC-APIKEY, Content-Type, idempotency-key, x-request-id, x-shop-correlation-id,"
            "access-control-allow-origin, last-event-id, authorization, x-other, cookie"
        )

        answer = await api.client.options(
            "/api/v2/swaps", headers={**PREFLIGHT, "Access-Control-Request-Headers": requested}
        )

        assert (answer.status_code, answer.content) == (204, b"")
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-max-age"] == "7200"
        assert answer.headers["access-control-allow-methods"] == "GET, POST, OPTIONS"
        assert answer.headers["access-control-allow-headers"] == (
            "x-svc-apikey, content-type, idempotency-key, x-request-id, x-shop-correlation-id, "
            "access-control-allow-origin, last-event-id, authorization"
        )
        assert not {name for name in answer.headers if name.startswith("ratelimit")}

    async def test_exposes_what_clients_read(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/health")

        exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
        assert {"ratelimit-remaining", "x-request-id", "idempotent-replayed"} <= set(exposed)


class TestPricing:
    async def test_quote_is_the_public_model(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE)

        answer = await api.get(app, "/quote", params={**ROUTE, "amount": "1."})

        QuotedModel.model_validate_json(json.dumps(answer.json()["data"]))
        assert answer.json()["data"]["quote"]["receive_amount"] == 2970

    @pytest.mark.parametrize(
        "names",
        [
            {"source_network": "31337", "source_token": "eth"},
            {"source_network": "ethereum_devnet", "source_token": "0x" + "0" * 40},
        ],
    )
    async def test_networks_and_tokens_have_other_names(
        self, api: Harness, names: dict[str, str]
    ) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/quote", params={**ROUTE, **names, "amount": "1"})

        assert answer.status_code == 200, answer.text

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"amount": "0"}, "LESS_THAN_MIN_ERROR"),
            ({"amount": ""}, "VALIDATION_ERROR"),
            ({"amount": "1e400"}, "VALIDATION_ERROR"),
            ({"amount": "1", "receive_amount": "1"}, "VALIDATION_ERROR"),
            ({"receive_amount": "much"}, "VALIDATION_ERROR"),
            ({"receive_amount": "0"}, "LESS_THAN_MIN_ERROR"),
            ({"amount": "1", "slippage": "0.8"}, "VALIDATION_ERROR"),
            ({"amount": "1", "use_depository": "true", "use_deposit_address": "true"},
             "CONFLICTING_FUNDING_METHODS"),
            ({"amount": "1", "source_network": "BARE_DEVNET", "use_depository": "1"},
             "UNSUPPORTED_DEPOSITORY"),
            ({"amount": "1", "destination_address": "nobody"}, "INVALID_ADDRESS_ERROR"),
            ({"amount": "1", "source_address": "0x" + "0" * 40}, "INVALID_ADDRESS_ERROR"),
        ],
    )  # fmt: skip
    async def test_quote_refuses(self, api: Harness, changes: dict[str, str], code: str) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/quote", params={**ROUTE, **changes})

        assert refusal(answer).code == code

    async def test_quote_accepts_the_amount_to_receive(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/quote", params={**ROUTE, "receive_amount": "2970"})

        quoted = QuotedModel.model_validate(answer.json()["data"]).quote
        assert (quoted.requested_amount, quoted.receive_amount) == (1.0, 2970.0)

    async def test_the_field_at_fault_is_the_one_that_was_sent(self, api: Harness) -> None:
        app = await api.an_app()
        both = {**ROUTE, "amount": "1", "receive_amount": "1"}

        answer = await api.get(app, "/quote", params=both)

        [(field, why)] = refusal(answer).metadata["field_errors"].items()
        assert (field, why) == ("receive_amount", "excludes amount; send one of the two")

    async def test_a_quote_is_explained_only_to_who_asks(self, api: Harness) -> None:
        app = await api.an_app()
        params = {**ROUTE, "amount": "1"}

        plain = await api.get(app, "/quote", params=params)
        explained = await api.get(app, "/quote", params={**params, "explain": "true"})

        assert set(plain.json()["data"]) == {"quote", "refuel", "reward"}
        explained_quote = ExplainedQuoteModel.model_validate(explained.json()["data"])
        assert explained_quote.explanation.steps
        assert explained.json()["data"]["quote"] == plain.json()["data"]["quote"]

    @pytest.mark.parametrize(
        ("parameters", "expected"),
        [
            (
                {"amount": "1.1234567899"},
                ("amount", "1.1234567899", "1.12345678", str(112345678 * 10**10), True),
            ),
            ({"amount": "1."}, ("amount", "1.", "1", str(10**18), False)),
            (
                {"receive_amount": "25.1234567"},
                ("receive_amount", "25.1234567", "25.123456", "25123456", True),
            ),
        ],
    )
    async def test_an_explanation_contains_the_truncated_amount(
        self, api: Harness, parameters: dict[str, str], expected: tuple[object, ...]
    ) -> None:
        params = {**ROUTE, **parameters, "explain": "true"}

        answer = await api.get(await api.an_app(), "/quote", params=params)

        amount = ExplainedQuoteModel.model_validate(answer.json()["data"]).explanation.amount
        assert tuple(amount.model_dump().values()) == expected

    async def test_a_quote_is_explained_to_secret_keys_only(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE)
        params = {**ROUTE, "amount": "1"}

        plain = await api.get(app, "/quote", params=params)
        explained = await api.get(app, "/quote", params={**params, "explain": "true"})

        assert plain.status_code == 200
        assert (explained.status_code, refusal(explained).code) == (403, "API_KEY_FORBIDDEN")

    async def test_limits_ignore_expected_deposits(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/limits", params={**ROUTE, "receive_amount": "5"})

        assert answer.status_code == 200

    async def test_unknown_and_empty_parameters_are_ignored(self, api: Harness) -> None:
        app = await api.an_app()
        params = {**ROUTE, "amount": "1", "theme": "dark", "slippage": "", "refuel": ""}

        assert (await api.get(app, "/quote", params=params)).status_code == 200

    @pytest.mark.parametrize("path", ["/limits", "/detailed_quote"])
    @pytest.mark.parametrize(("name", "value"), [("slippage", "0.8"), ("amount", "much")])
    async def test_an_invalid_number_is_refused_where_it_is_ignored(
        self, api: Harness, path: str, name: str, value: str
    ) -> None:
        answer = await api.get(await api.an_app(), path, params={**ROUTE, name: value})

        assert answer.status_code == 400
        assert name in answer.json()["error"]["metadata"]["field_errors"]

    async def test_limits_need_no_amount(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/limits", params=ROUTE)

        limits = LimitsModel.model_validate(answer.json()["data"])
        assert limits.min_amount < limits.max_amount

    async def test_networks_carry_prices_once_there_are_any(self, api: Harness) -> None:
        app = await api.an_app()

        before = await api.get(app, "/networks")
        await api.parts.swaps.refresh_prices.refresh()
        after = await api.get(app, "/networks?network_types=evm,solana")
        none = await api.get(app, "/networks?network_types=solana&network_types=ton")

        for answer in (before, after):
            for network in answer.json()["data"]:
                NetworkWithTokensModel.model_validate_json(json.dumps(network))
        assert before.json()["data"][0]["token"]["price_in_usd"] == 0
        assert after.json()["data"][0]["token"]["price_in_usd"] == 3000
        assert none.json()["data"] == []

    async def test_networks_stand_while_the_quoter_is_away(self, api: Harness) -> None:
        app = await api.an_app()
        await api.parts.swaps.refresh_prices.refresh()
        api.quoter.is_away = True

        await api.parts.swaps.refresh_prices.refresh()

        networks = (await api.get(app, "/networks")).json()["data"]
        assert networks[0]["token"]["price_in_usd"] == 3000


class TestErrorPage:
    async def test_every_error_leads_to_its_place_on_a_page(self, api: Harness) -> None:
        app = await api.an_app()
        listed = (await api.get(app, "/errors")).json()["data"]

        for one in listed:
            path, _, anchor = one["doc_url"].partition("#")
            page = await api.client.get(path)
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert f'id="{anchor}"' in page.text


class TestOpenApi:
    async def test_describes_every_endpoint(self, api: Harness) -> None:
        document = (await api.client.get("/openapi.json")).json()

        described = {
            (method.upper(), path)
            for path, operations in document["paths"].items()
            for method in operations
        }
        assert document["openapi"].startswith("3.1")
        assert described == {(e.method, e.path) for e in api.parts.endpoints}
        assert document["components"]["securitySchemes"]["ApiKey"]["name"] == "X-SVC-APIKEY"

    async def test_shows_the_closed_public_models(self, api: Harness) -> None:
        schemas = (await api.client.get("/openapi.json")).json()["components"]["schemas"]

        for name in ("PreparedSwapModel", "SwapModel", "SwapQuoteModel", "NetworkModel"):
            assert schemas[name]["additionalProperties"] is False
            assert set(schemas[name]["required"]) == set(schemas[name]["properties"])

    async def test_shows_an_example_that_works(self, api: Harness) -> None:
        app = await api.an_app()
        document = (await api.client.get("/openapi.json")).json()
        body = document["paths"]["/api/v2/swaps"]["post"]["requestBody"]
        example = body["content"]["application/json"]["example"]

        answer = await api.create(app, example)

        assert answer.status_code == 200, answer.text
        assert set(example) >= set(a_body()) - {"amount"}
