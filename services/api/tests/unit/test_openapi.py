"""The OpenAPI document equals the models."""

from __future__ import annotations

import json
import re
from typing import Any, get_type_hints

import orjson
import pytest
from pydantic import TypeAdapter

from swap_api.http.endpoints import MANAGEMENT, Endpoint
from swap_api.http.examples import example_of
from swap_api.http.openapi import openapi_document
from swap_api.http.shipped_openapi import shipped_openapi
from swap_api.public_endpoints import Handlers, endpoints
from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_contracts.public.explaining import ExplainedQuoteModel
from swap_contracts.public.lookups import SwapEventModel
from swap_contracts.public.webhooks import PUSHED

SIGNED = ("id", "timestamp", "signature")
HANDLERS: Any = get_type_hints(Handlers)
TABLE = endpoints(HANDLERS)


@pytest.fixture(scope="module")
def document() -> Any:
    made = openapi_document(TABLE, key_headers=["X-SVC-APIKEY", "X-OTHER-APIKEY"], version="1")
    return orjson.loads(made)


def test_the_shipped_document_matches_the_endpoints(document: Any) -> None:
    """`make generate` writes it."""
    key_headers = ["X-SVC-APIKEY", "X-OTHER-APIKEY"]

    assert orjson.loads(shipped_openapi(key_headers=key_headers, version="1")) == document


def in_json(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))


class TestExamples:
    @pytest.mark.parametrize("endpoint", TABLE, ids=lambda e: f"{e.method} {e.path}")
    def test_are_what_the_model_takes(self, endpoint: Endpoint) -> None:
        example, model = example_of(endpoint.answers), TypeAdapter(endpoint.answers)

        parsed = model.validate_python(example)

        assert in_json(model.dump_python(parsed, by_alias=True)) == example

    @pytest.mark.parametrize("name", PUSHED)
    def test_of_webhooks_are_what_the_model_takes(self, document: Any, name: str) -> None:
        content = document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]

        parsed = PUSHED[name].model_validate(content["example"])

        assert in_json(parsed.model_dump(by_alias=True)) == content["example"]

    def test_stand_at_every_answer(self, document: Any) -> None:
        without = [
            (path, method, status)
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
            for status, answer in operation["responses"].items()
            if status != "304"
            if not {"example", "examples"} & set(answer["content"]["application/json"])
        ]

        assert without == []

    def test_of_refusals_are_the_codes_that_have_the_status(self, document: Any) -> None:
        for operations in document["paths"].values():
            for operation in operations.values():
                for status, answer in operation["responses"].items():
                    if status == "200":
                        continue
                    content = answer.get("content", {"application/json": {}})
                    for code in content["application/json"].get("examples", {}):
                        assert ERRORS[ErrorCode(code)].http_status == int(status)

    def test_show_a_quote_with_its_explanation_and_without(self, document: Any) -> None:
        answer = document["paths"]["/api/v2/quote"]["get"]["responses"]["200"]
        shown = answer["content"]["application/json"]["examples"]

        assert set(shown) == {"Quoted", "ExplainedQuote"}
        assert "explanation" not in shown["Quoted"]["value"]["data"]
        explained = ExplainedQuoteModel.model_validate(shown["ExplainedQuote"]["value"]["data"])
        assert explained.explanation.steps


def test_every_answer_may_list_what_was_ignored(document: Any) -> None:
    reference = {"$ref": "#/components/headers/X-Ignored"}

    assert "X-Ignored" in document["components"]["headers"]
    for operations in document["paths"].values():
        for operation in operations.values():
            assert operation["responses"]["200"]["headers"]["X-Ignored"] == reference


SECRETS = {"key", "token", "secret"}


class TestIdempotencyKeys:
    def test_are_for_everything_that_changes_something(self, document: Any) -> None:
        """A rate is a read. An invitation or a request of a pay link takes effect once anyway."""
        without = {
            path
            for path, operations in document["paths"].items()
            if "post" in operations
            if "Idempotency-Key" not in {p["name"] for p in operations["post"]["parameters"]}
        }

        assert without == {
            "/api/swap_rate",
            "/management/v1/invitations/accept",
            "/management/v1/invitations/inspect",
            "/pay/v1/swaps/{swapId}/authorize",
            "/pay/v1/swaps/{swapId}/refund_address",
        }

    def test_keep_no_answer_with_a_secret(self) -> None:
        managing = [endpoint for endpoint in TABLE if endpoint.path.startswith(MANAGEMENT)]
        showing = {
            e.path for e in managing if SECRETS & set(getattr(e.answers, "model_fields", ()))
        }

        assert showing == {endpoint.path for endpoint in TABLE if endpoint.shows_secret}
        assert "/management/v1/keys/{keyId}/rotate" in showing


class TestDocument:
    def test_shows_what_the_alias_takes(self, document: Any) -> None:
        lists = [document["paths"][f"/api/v2/swaps{one}"]["get"] for one in ("", "/internal")]
        usual, alias = ({p["name"] for p in one["parameters"]} for one in lists)

        assert usual - alias == {"address"}
        assert alias - usual == {"addresses"}
        assert {*lists[1]["responses"]["200"]["headers"]} == {"X-Total-Count", "Link", "X-Ignored"}

    def test_shows_that_a_swap_can_be_followed_live(self, document: Any) -> None:
        operation = document["paths"]["/api/v2/swaps/{swapId}/events"]["get"]
        content = operation["responses"]["200"]["content"]

        assert set(content) == {"application/json", "text/event-stream"}
        assert "Last-Event-ID" in {parameter["name"] for parameter in operation["parameters"]}
        shown = content["text/event-stream"]["example"].split("data: ")[1]
        SwapEventModel.model_validate_json(shown)

    def test_documents_that_any_of_them_may_be_unavailable(self, document: Any) -> None:
        """This includes the health check, with a key that is not cached."""
        operations = [o for one in document["paths"].values() for o in one.values()]

        assert all("503" in operation["responses"] for operation in operations)

    def test_accepts_any_key_header_and_none_where_no_key_is_needed(self, document: Any) -> None:
        assert document["security"] == [{"ApiKey": []}, {"ApiKey1": []}]
        assert document["paths"]["/api/swap_rate"]["post"]["security"] == []

    def test_lists_every_webhook(self, document: Any) -> None:
        """The notifier's tests compare its messages with the same list."""
        assert set(document["webhooks"]) == set(PUSHED)
        assert {"swap.completed", "swap.updated", "webhook.test"} <= set(PUSHED)

    def test_names_the_headers_of_both_families(self, document: Any) -> None:
        families = {f"{family}-{what}" for family in ("webhook", "svix") for what in SIGNED}

        for pushed in document["webhooks"].values():
            named = {one["name"] for one in pushed["post"]["parameters"]}
            assert named == {"webhook-event-type", *families}

    def test_has_only_references_that_resolve(self, document: Any) -> None:
        for pointer in re.findall(r'"\$ref": ?"([^"]*)"', json.dumps(document)):
            found = document
            for name in pointer.removeprefix("#/").split("/"):
                assert name in found, pointer
                found = found[name]

    def test_has_a_unique_id_for_every_operation(self, document: Any) -> None:
        both = [*document["paths"].values(), *document["webhooks"].values()]
        names = [operation["operationId"] for one in both for operation in one.values()]

        assert len(names) == len(set(names))
        assert "swap_read" in names

    def test_describes_every_parameter_and_operation(self, document: Any) -> None:
        operations = [o for one in document["paths"].values() for o in one.values()]

        assert all(operation["description"] for operation in operations)
        assert all(p["description"] for o in operations for p in o.get("parameters", ()))
