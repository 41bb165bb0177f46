"""Every endpoint answers callers with access, and refuses all others."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.conformance.everything import AUTHORIZE, ask
from tests.conformance.paid_swaps import PaidSwaps
from tests.conformance.signing import RequirementMissing
from tests.conformance.tables import Endpoint, beyond, endpoints, enums
from tests.conformance.target import Target
from tests.conformance.world import World

ROWS = endpoints()


def rows(what: str, wanted: list[Endpoint]) -> list[object]:
    return [
        pytest.param(row, id=row.name, marks=pytest.mark.rule(row.section, f"{row.name} {what}"))
        for row in wanted
    ]


@pytest.mark.parametrize("endpoint", rows("answers", list(ROWS)))
def test_each_endpoint_answers_a_caller_with_access(
    endpoint: Endpoint, world: World, paid_swaps: PaidSwaps
) -> None:
    answer = ask(world, paid_swaps, endpoint)

    if endpoint.data == "-":
        assert answer.envelope == {"error": None}
    else:
        world.target.observe(answer, endpoint.data)


@pytest.mark.parametrize(
    "endpoint", rows("needs a key", [row for row in ROWS if row.key != "none"])
)
def test_each_endpoint_but_the_legacy_one_needs_a_key(endpoint: Endpoint, world: World) -> None:
    path = endpoint.path.partition("?")[0].format_map(_Anything())

    world.target.ask(endpoint.method, path, key=None).refuses("API_KEY_REQUIRED")


@pytest.mark.parametrize(
    "endpoint",
    rows("is open to a publishable key", [row for row in ROWS if row.key == "publishable"]),
)
def test_browser_endpoints_accept_a_publishable_key(
    endpoint: Endpoint, world: World, paid_swaps: PaidSwaps
) -> None:
    world.needs_key("publishable")

    answer = ask(world, paid_swaps, endpoint, key="publishable")

    if endpoint.path == AUTHORIZE:
        # The secret key submitted this signature, and idempotency keys of a publishable key belong
        # to its
        # client. So the request is admitted and refused, not replayed.
        answer.refuses("AUTHORIZATION_ALREADY_SUBMITTED")
    else:
        assert answer.status == 200


@pytest.mark.rule("4", "document")
def test_the_document_names_these_endpoints_and_no_others(target: Target) -> None:
    body = {
        (method.upper(), unnamed(path))
        for path, operations in document(target)["paths"].items()
        for method in operations
        if path.startswith("/api/")
    }
    expected = {(row.method, unnamed(row.path.partition("?")[0])) for row in ROWS}
    allowed = {(method, unnamed(path)) for method, path in beyond()}

    assert expected - body == set()
    assert body - expected - allowed == set()


def document(target: Target) -> Any:
    """
    :raises RequirementMissing: where none is published.
    """
    answer = target.http.get("/openapi.json")
    if answer.status_code != httpx.codes.OK:
        raise RequirementMissing("this deployment publishes no OpenAPI document")
    return answer.json()


def operations_of(target: Target) -> list[Any]:
    paths = document(target)["paths"]
    return [
        operation
        for path, operations in paths.items()
        for operation in operations.values()
        if path.startswith("/api/")
    ]


@pytest.mark.rule("D2", "document-enums")
@pytest.mark.parametrize(
    ("name", "enum"), [("network_types", "NetworkType"), ("statuses", "SwapStatus")]
)
def test_the_document_names_every_value_of_a_filter(target: Target, name: str, enum: str) -> None:
    shown = [
        set(parameter["schema"]["items"]["enum"])
        for operation in operations_of(target)
        for parameter in operation.get("parameters", ())
        if parameter["name"] == name
    ]

    assert shown
    assert all(set(enums()[enum]) <= values for values in shown)


@pytest.mark.rule("D2", "document-amounts")
def test_no_examples_name_both_amounts(target: Target) -> None:
    for operation in operations_of(target):
        shown = {
            parameter["name"]
            for parameter in operation.get("parameters", ())
            if parameter["schema"].get("examples") or "example" in parameter
        }
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        shown |= set(content.get("example", ()))
        assert not {"amount", "receive_amount"} <= shown, operation["operationId"]


@pytest.mark.rule("D2", "document-400")
def test_every_operation_of_the_document_declares_400(target: Target) -> None:
    without = [one["operationId"] for one in operations_of(target) if "400" not in one["responses"]]

    assert without == []


def unnamed(path: str) -> str:
    """Return a path with its variable parts replaced by one placeholder."""
    return re.sub(r"\{\w+\}", "{}", path)


@pytest.mark.rule("9", "versions")
def test_an_address_without_the_version_is_not_found(target: Target) -> None:
    for path in ("/api/networks", "/api/v1/networks", "/api/v3/networks"):
        target.ask("GET", path).refuses("NOT_FOUND")


class _Anything(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "6f0e7a52-5a07-4d5a-9f0e-0f5b7b2a9c11"
