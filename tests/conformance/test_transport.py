"""HTTP: keys, CORS, envelopes, request ids, limits, idempotency."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.conformance.everything import HINTED_HASH
from tests.conformance.signing import RequirementMissing
from tests.conformance.tables import codes
from tests.conformance.target import Target
from tests.conformance.world import World, new_address

rule = pytest.mark.rule
ORIGIN = "https://partner.example"
ALLOWED = (
    "content-type",
    "idempotency-key",
    "x-request-id",
    "x-partner-correlation-id",
    "access-control-allow-origin",
)
EXPOSED = (
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-request-id",
    "idempotent-replayed",
    "x-ignored",
)
OTHER_HASH = "0x" + "6f" * 32
AT_ONCE = 10
IGNORED_MAX = 512
REQUESTS_MAX = 50


def names(header: str) -> set[str]:
    return {name.strip().lower() for name in header.split(",")}


@rule("D1", "alias")
@pytest.mark.parametrize("spell", [str, str.lower, str.upper])
def test_keys_are_accepted_in_the_alias_header(target: Target, spell: Any) -> None:
    alias = target.settings.key_alias
    if alias is None:
        raise RequirementMissing("no alias of the key header was given (CONFORMANCE_KEY_ALIAS)")
    headers = {spell(alias): target.keys["secret"]}

    assert target.ask("GET", "/api/v2/networks", key=None, headers=headers).status == 200
    preflight = target.ask(
        "OPTIONS",
        "/api/v2/networks",
        key=None,
        headers={"Origin": ORIGIN, "Access-Control-Request-Headers": alias},
    )
    assert names(preflight.headers["access-control-allow-headers"]) == {alias.lower()}


@rule("D1", "cors")
def test_a_preflight_needs_no_key(target: Target) -> None:
    requested = [target.settings.key_header.lower(), *ALLOWED, "x-strange"]
    answer = target.ask(
        "OPTIONS",
        "/api/v2/swaps",
        key=None,
        headers={
            "Origin": ORIGIN,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": ", ".join(requested),
        },
    )

    assert answer.status == 204
    assert names(answer.headers["access-control-allow-headers"]) == {*requested} - {"x-strange"}
    assert names(answer.headers["access-control-allow-methods"]) >= {"get", "post", "options"}
    assert answer.headers["access-control-max-age"] == "7200"
    assert answer.headers["access-control-allow-origin"] in ("*", ORIGIN)


@rule("D1", "cors-exposed")
def test_web_pages_may_read_the_headers(target: Target) -> None:
    answer = target.ask("GET", "/api/v2/networks", headers={"Origin": ORIGIN})

    assert set(EXPOSED) <= names(answer.headers["access-control-expose-headers"])


@rule("D1", "request-id")
def test_a_request_id_is_echoed_or_made(target: Target) -> None:
    request_id = f"conformance-{secrets.token_hex(8)}"

    echoed = target.ask("GET", "/api/v2/nothing", headers={"X-Request-Id": request_id})
    made = target.ask("GET", "/api/v2/nothing")

    assert echoed.headers["x-request-id"] == request_id
    assert echoed.refuses("NOT_FOUND")["metadata"]["request_id"] == request_id
    assert made.headers["x-request-id"]
    assert made.refuses("NOT_FOUND")["metadata"]["request_id"] == made.headers["x-request-id"]


@rule("D1", "slashes")
def test_repeated_slashes_are_merged(target: Target) -> None:
    url = f"{target.settings.base_url}//api//v2///health"

    assert target.ask("GET", url).data == {"status": "ok"}


@rule("D1", "get-content-type")
def test_the_content_type_of_a_get_is_ignored(target: Target) -> None:
    headers = {"Content-Type": "text/plain; charset=klingon"}

    assert target.ask("GET", "/api/v2/health", headers=headers).status == 200


@rule("2.1", "errors-null")
@rule("D2", "health")
@rule("9", "prefix")
def test_health_is_ok_in_the_envelope(target: Target) -> None:
    answer = target.ask("GET", "/api/v2/health")

    assert answer.envelope == {"data": {"status": "ok"}, "error": None}


# Errors


@rule("D3", "catalogue")
def test_the_catalogue_names_every_code(target: Target) -> None:
    rows = target.get("/api/v2/errors", "[ErrorFacts]")

    by_code = {facts["code"]: facts["http_status"] for facts in rows}
    assert {code: by_code.get(code) for code in codes()} == dict(codes())


@rule("D3", "field-errors")
def test_a_validation_error_names_the_fields(target: Target) -> None:
    error = target.ask("GET", "/api/v2/quote").refuses("VALIDATION_ERROR")

    assert {"source_network", "source_token"} <= set(error["metadata"]["field_errors"])


# Limits


@rule("D1", "rate-limited")
def test_request_above_the_rate_limit_is_refused(target: Target) -> None:
    limited_key(target)
    for _ in range(REQUESTS_MAX):
        answer = target.ask("GET", "/api/v2/health", key="limited")
        if answer.status != 200:
            break

    answer.refuses("RATE_LIMITED")
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["ratelimit-remaining"] == "0"
    preflight = target.ask("OPTIONS", "/api/v2/health", key=None)
    assert preflight.status == 204


@rule("D1", "pending-swaps")
def test_swap_above_the_limit_of_unpaid_ones_is_refused(world: World) -> None:
    limited_key(world.target)
    order = world.order()
    answers = [
        world.target.ask("POST", "/api/v2/swaps", key="limited", json=order) for _ in range(2)
    ]

    assert answers[0].status == 200
    answers[1].refuses("TOO_MANY_PENDING_SWAPS")


def limited_key(target: Target) -> None:
    if "limited" not in target.keys:
        raise RequirementMissing("no key with small limits was given: give stack.json")


# Names that an endpoint does not accept


@rule("D1", "near-misses")
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("use_depositary", "use_depository"),
        ("use_gasles", "use_gasless"),
        ("refund_adress", "refund_address"),
        ("reference_id_", "reference_id"),
    ],
)
def test_a_misspelled_member_is_refused(world: World, wrong: str, right: str) -> None:
    answer = world.target.ask("POST", "/api/v2/swaps", json={**world.order(), wrong: True})

    error = answer.refuses("VALIDATION_ERROR")
    assert wrong in error["message"]
    assert right in error["message"]
    assert wrong in error["metadata"]["field_errors"]


@rule("D1", "near-misses")
@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ("/api/v2/swaps", "status", "statuses"),
        ("/api/v2/swaps", "adress", "address"),
        ("/api/v2/networks", "network_type", "network_types"),
        ("/api/v2/quote", "amout", "amount"),
    ],
)
def test_a_misspelled_parameter_is_refused(
    target: Target, path: str, wrong: str, right: str
) -> None:
    error = target.ask("GET", path, params={wrong: "done"}).refuses("VALIDATION_ERROR")

    assert wrong in error["message"]
    assert right in error["message"]


@rule("D1", "known-elsewhere")
def test_a_name_of_another_endpoint_is_no_misspelling(target: Target) -> None:
    answer = target.ask("GET", "/api/v2/swaps", params={"addresses": "0x1", "network": "X"})

    assert isinstance(answer.data, list)
    assert names(answer.headers["x-ignored"]) == {"addresses", "network"}


@rule("D1", "ignored-listed")
def test_ignored_names_of_a_request_are_listed(world: World) -> None:
    order = {**world.order(), "app_name": "shop", "colour": "blue", "nothing": None}

    created = world.target.ask("POST", "/api/v2/swaps", json=order)
    known = world.target.ask("POST", "/api/v2/swaps", json=world.order())

    assert world.target.observe(created, "PreparedSwapResponse")
    assert names(created.headers["x-ignored"]) == {"app_name", "colour"}
    assert "x-ignored" not in known.headers


@rule("D1", "ignored-listed")
def test_the_list_of_ignored_names_is_a_header(target: Target) -> None:
    parameters = {f"na\u00efve,\r\n{'x' * 60}{n}": "1" for n in range(50)}

    answer = target.ask("GET", "/api/v2/health", params=parameters)

    assert answer.status == 200
    ignored = answer.headers["x-ignored"]
    assert ignored.isascii()
    assert ignored.isprintable()
    assert 0 < len(ignored) <= IGNORED_MAX


# Idempotency


@rule("D1", "replayed")
def test_the_same_key_and_body_give_the_first_answer_again(world: World) -> None:
    order, headers = world.order(), {"Idempotency-Key": secrets.token_hex()}

    first, again = (
        world.target.ask("POST", "/api/v2/swaps", json=order, headers=headers) for _ in "12"
    )

    assert first.data
    assert first.response.content == again.response.content
    assert again.headers["idempotent-replayed"] == "true"
    assert first.headers.get("idempotent-replayed") in (None, "false")


@rule("D1", "idempotent-parallel")
def test_many_creations_at_once_make_one_swap(world: World) -> None:
    order, headers = world.order(), {"Idempotency-Key": secrets.token_hex()}

    def create(_: int) -> Any:
        return world.target.ask("POST", "/api/v2/swaps", json=order, headers=headers)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(create, range(AT_ONCE)))

    made = {one.data["swap"]["id"] for one in answers if one.status == 200}
    assert len(made) == 1
    for one in answers:
        if one.status != 200:
            one.refuses("IDEMPOTENCY_KEY_IN_PROGRESS")
    listed = world.target.ask(
        "GET", "/api/v2/swaps", params={"address": order["destination_address"]}
    )
    assert len(listed.data) == 1


@rule("D1", "replayed-everywhere")
def test_every_creation_about_a_swap_may_be_sent_again(world: World) -> None:
    swap_id = world.target.create(world.order())["swap"]["id"]
    for verb, body, other in (
        ("refund_address", {"refund_address": new_address()}, {"refund_address": new_address()}),
        ("deposit_speedup", {"transaction_id": HINTED_HASH}, {"transaction_id": OTHER_HASH}),
    ):
        path = f"/api/v2/swaps/{swap_id}/{verb}"
        headers = {"Idempotency-Key": secrets.token_hex()}
        first, again = (world.target.ask("POST", path, json=body, headers=headers) for _ in "12")
        assert first.status == 200
        assert first.response.content == again.response.content
        assert again.headers["idempotent-replayed"] == "true"
        changed = world.target.ask("POST", path, json=other, headers=headers)
        changed.refuses("IDEMPOTENCY_KEY_REUSED")


@rule("D1", "refused-not-kept")
def test_refused_request_may_be_sent_again_with_the_same_key(world: World) -> None:
    order, headers = world.order(), {"Idempotency-Key": secrets.token_hex()}
    wrong = {**order, "destination_address": "0x1234"}

    refused = world.target.ask("POST", "/api/v2/swaps", json=wrong, headers=headers)
    refused.refuses("INVALID_ADDRESS_ERROR")
    made = world.target.ask("POST", "/api/v2/swaps", json=order, headers=headers)
    assert made.data["swap"]["id"]


@rule("D1", "same-as-unknown")
def test_swap_of_another_partner_is_answered_like_a_missing_one(world: World) -> None:
    world.needs_key("other")
    refusals = [
        world.target.ask("GET", f"/api/v2/swaps/{swap_id}", key="other").refuses("NOT_FOUND")
        for swap_id in (world.swap["swap"]["id"], world.unknown_swap)
    ]

    assert without_id(refusals[0]) == without_id(refusals[1])


def without_id(error: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = {name: value for name, value in error["metadata"].items() if name != "request_id"}
    return {**error, "metadata": metadata}


@rule("D1", "etag")
@pytest.mark.parametrize("path", ["/api/v2/swaps/{}", "/api/v2/networks"])
def test_unchanged_answer_is_not_sent_again(world: World, path: str) -> None:
    path = path.format(world.swap["swap"]["id"])
    first = world.target.ask("GET", path)
    tag = first.headers.get("etag")
    if tag is None:
        raise RequirementMissing("answers have no ETag here")

    again = world.target.ask("GET", path, headers={"If-None-Match": tag})

    assert (again.status, again.response.content) == (httpx.codes.NOT_MODIFIED, b"")
