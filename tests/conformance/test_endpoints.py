"""Every endpoint answers, to whoever may ask it and to nobody else."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.conformance.everything import AUTHORIZE, ask
from tests.conformance.paid import Paid
from tests.conformance.signing import Lacking
from tests.conformance.tables import Endpoint, beyond, endpoints
from tests.conformance.target import Target
from tests.conformance.world import World

ROWS = endpoints()


def rows(what: str, wanted: list[Endpoint]) -> list[object]:
    return [
        pytest.param(row, id=row.name, marks=pytest.mark.rule(row.section, f"{row.name} {what}"))
        for row in wanted
    ]


@pytest.mark.parametrize("endpoint", rows("answers", list(ROWS)))
def test_each_endpoint_answers(endpoint: Endpoint, world: World, paid: Paid) -> None:
    answer = ask(world, paid, endpoint)

    if endpoint.data == "-":
        assert answer.envelope == {"error": None}
    else:
        world.target.see(answer, endpoint.data)


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
def test_what_may_stand_in_a_browser_is_open_to_a_publishable_key(
    endpoint: Endpoint, world: World, paid: Paid
) -> None:
    world.needs_key("publishable")

    answer = ask(world, paid, endpoint, key="publishable")

    if endpoint.path == AUTHORIZE:
        # The secret key submitted this signature, and idempotency keys of a publishable key are
        # its client's own: the request is admitted and judged, not replayed.
        answer.refuses("AUTHORIZATION_ALREADY_SUBMITTED")
    else:
        assert answer.status == 200


@pytest.mark.rule("4", "document")
def test_the_document_names_these_endpoints_and_no_others(target: Target) -> None:
    answer = target.http.get("/openapi.json")
    if answer.status_code != httpx.codes.OK:
        raise Lacking("this deployment publishes no OpenAPI document")
    told = {
        (method.upper(), unnamed(path))
        for path, operations in answer.json()["paths"].items()
        for method in operations
        if path.startswith("/api/")
    }
    expected = {(row.method, unnamed(row.path.partition("?")[0])) for row in ROWS}
    allowed = {(method, unnamed(path)) for method, path in beyond()}

    assert expected - told == set()
    assert told - expected - allowed == set()


def unnamed(path: str) -> str:
    """Return a path whose variable parts have no names."""
    return re.sub(r"\{\w+\}", "{}", path)


@pytest.mark.rule("9", "versions")
def test_an_address_of_no_version_or_another_is_nothing(target: Target) -> None:
    for path in ("/api/networks", "/api/v1/networks", "/api/v3/networks"):
        target.ask("GET", path).refuses("NOT_FOUND")


class _Anything(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "6f0e7a52-5a07-4d5a-9f0e-0f5b7b2a9c11"
