"""Names that an endpoint does not take: a misspelled one is refused, any other is listed."""

from __future__ import annotations

from typing import Any

import pytest
from api_factories import a_body
from api_harness import Harness
from people import an_operators_client

from swap_api.http.endpoints import Endpoint

pytestmark = pytest.mark.connected

ROUTE = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "USDC",
    "amount": "1",
}
HEADER = "x-ignored"


class TestAMisspelledName:
    async def test_in_a_body_is_refused_without_a_swap(self, api: Harness) -> None:
        app = await api.an_app()
        body = a_body(use_depositary=True)
        del body["use_depository"]

        answer = await api.create(app, body)

        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "VALIDATION_ERROR")
        assert error["message"] == "use_depositary is unknown; did you mean use_depository?"
        assert set(error["metadata"]["field_errors"]) == {"use_depositary"}
        assert await api.rows("SELECT id FROM swap") == []

    async def test_in_a_query_does_not_list_everything(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/swaps", params={"status": "done"})

        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == "status is unknown; did you mean statuses?"

    async def test_does_not_use_up_the_idempotency_key(self, api: Harness) -> None:
        app = await api.an_app()

        refused = await api.create(app, a_body(use_depositary=True), key="k-1")
        created = await api.create(app, a_body(), key="k-1")

        assert (refused.status_code, created.status_code) == (400, 200)

    async def test_with_a_list_mark_is_found_too(self, api: Harness) -> None:
        answer = await api.get(await api.an_app(), "/swaps", params={"statues[]": "completed"})

        assert answer.status_code == 400

    @pytest.mark.parametrize("value", [None, ""])
    async def test_without_a_value_is_as_absent(self, api: Harness, value: Any) -> None:
        app = await api.an_app()

        created = await api.create(app, a_body(use_depositary=value))
        listed = await api.get(app, "/swaps", params={"status": ""})

        assert (created.status_code, listed.status_code) == (200, 200)
        assert HEADER not in created.headers
        assert HEADER not in listed.headers

    async def test_is_refused_at_every_endpoint_that_takes_names(self, api: Harness) -> None:
        app = await api.an_app()
        taking = [one for one in api.parts.endpoints if is_open_to_keys(one)]

        for endpoint in taking:
            for model, where in ((endpoint.query, "params"), (endpoint.body, "json")):
                for name in () if model is None else model.model_fields:
                    answer = await api.client.request(
                        endpoint.method,
                        address_of(endpoint),
                        headers=app.headers,
                        **{where: {f"{name}qz": "1"}},  # type: ignore[arg-type]
                    )
                    fields = answer.json()["error"]["metadata"]["field_errors"]
                    assert answer.status_code == 400, (endpoint.path, name)
                    assert fields[f"{name}qz"].startswith("is unknown"), (endpoint.path, name)
        assert len(taking) > 15


class TestAnyOtherName:
    async def test_is_ignored_and_listed(self, api: Harness) -> None:
        app = await api.an_app()

        created = await api.create(app, a_body(app_name="shop", colour="blue", nothing=None))
        quoted = await api.get(app, "/quote", params={**ROUTE, "version": "mainnet"})
        healthy = await api.get(app, "/health", params={"naïve,\n": "1"})

        assert created.headers[HEADER] == "app_name, colour"
        assert quoted.headers[HEADER] == "version"
        assert healthy.headers[HEADER] == "na%C3%AFve%2C%0A"
        assert {one.status_code for one in (created, quoted, healthy)} == {200}

    async def test_is_listed_on_a_refusal_too(self, api: Harness) -> None:
        answer = await api.get(await api.an_app(), "/quote", params={"version": "mainnet"})

        assert answer.status_code == 400
        assert answer.headers[HEADER] == "version"

    async def test_is_not_there_where_every_name_is_known(self, api: Harness) -> None:
        app = await api.an_app()

        assert HEADER not in (await api.create(app, a_body())).headers
        assert HEADER not in (await api.get(app, "/swaps", params={"address[]": "0x1"})).headers

    async def test_can_be_read_by_web_pages(self, api: Harness) -> None:
        answer = await api.get(await api.an_app(), "/health")

        assert "X-Ignored" in answer.headers["access-control-expose-headers"].split(", ")

    async def test_is_cut_at_512_bytes(self, api: Harness) -> None:
        names = {f"{'x' * 50}{n}": "1" for n in range(100)}

        answer = await api.get(await api.an_app(), "/health", params=names)

        assert answer.status_code == 200
        assert 400 < len(answer.headers[HEADER]) <= 512

    async def test_body_with_very_many_names_is_refused(self, api: Harness) -> None:
        body = a_body(**{f"name-{n}": 1 for n in range(200)})

        answer = await api.create(await api.an_app(), body)

        assert answer.status_code == 400


class TestANameOfAnotherEndpoint:
    """Clients send the same parameters to several endpoints."""

    async def test_is_never_a_misspelling(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/swaps", params={"addresses": "0x1", "network": "X"})
        alias = await api.get(app, "/swaps/internal", params={"address": "0x1"})

        assert answer.status_code == alias.status_code == 200
        assert answer.headers[HEADER] == "addresses, network"
        assert (alias.headers[HEADER], alias.json()["data"]) == ("address", [])

    async def test_is_listed_as_ignored(self, api: Harness) -> None:
        answer = await api.get(await api.an_app(), "/networks", params={"include_swaps": "true"})

        assert answer.status_code == 200
        assert answer.headers[HEADER] == "include_swaps"


async def test_an_operators_order_is_held_to_the_same_names(api: Harness) -> None:
    path = "/management/v1/organizations"
    async with an_operators_client(api) as http:
        misspelled = await http.post(path, json={"name": "Shop", "nmae": "Shop"})
        listed = await http.post(path, json={"name": "Shop", "colour": "blue"})

    assert (misspelled.status, listed.status) == (400, 200)
    assert listed.headers[HEADER] == "colour"


async def test_an_empty_idempotency_key_is_refused(api: Harness) -> None:
    app = await api.an_app()
    swap = (await api.create(app, a_body())).json()["data"]["swap"]["id"]

    for key in ("", "  "):
        created = await api.create(app, a_body(), key=key)
        hinted = await api.client.post(
            f"/api/v2/swaps/{swap}/deposit_speedup",
            json={"transaction_id": "0x" + "5f" * 32},
            headers={**app.headers, "Idempotency-Key": key},
        )
        for answer in (created, hinted):
            assert answer.status_code == 400
            fields = answer.json()["error"]["metadata"]["field_errors"]
            assert set(fields) == {"Idempotency-Key"}
    assert len(await api.rows("SELECT id FROM swap")) == 1


def is_open_to_keys(endpoint: Endpoint) -> bool:
    takes_names = endpoint.query is not None or endpoint.body is not None
    return takes_names and endpoint.path.startswith("/api/")


def address_of(endpoint: Endpoint) -> str:
    swap_id = "5f0b2f3c-6b1e-4f7e-9d3c-1a2b3c4d5e6f"
    return endpoint.path.replace("{swapId}", swap_id).replace("{transactionHash}", "0x12")
