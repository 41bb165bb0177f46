"""A creation is one transaction; concurrent creations are committed together."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import orjson
import pytest
from api_factories import BOB, DEPOSITORY, FACTORY, INIT_CODE_HASH, TREASURY, USDC, a_body
from api_harness import Harness

from swap_api.admission.store.idempotency import CLAIM
from swap_api.model.members import OPERATOR
from swap_api.swaps.store.creations import CREATE_SWAPS
from swap_chains.evm.deposit_addresses import deposit_address
from swap_contracts.envelope import Envelope
from swap_contracts.public.models import PreparedSwapModel
from swap_contracts.swaps import SwapRequested
from swap_contracts.tracing import trace_id_of

pytestmark = pytest.mark.connected


class TestCreate:
    async def test_answers_with_the_swap_and_what_to_do(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.create(app, a_body(reference_id="order-7"))

        assert answer.status_code == 200, answer.text
        content = answer.json()
        assert content["error"] is None
        PreparedSwapModel.model_validate_json(orjson.dumps(content["data"]))
        swap, (action,) = content["data"]["swap"], content["data"]["deposit_actions"]
        assert UUID(swap["id"]).version == 4
        assert swap["status"] == "user_transfer_pending"
        assert swap["metadata"]["reference_id"] == "order-7"
        assert swap["quote_revision"] == 0
        assert action["to_address"] == DEPOSITORY
        assert action["encoded_args"][1] == TREASURY
        assert int(action["encoded_args"][0], 16) == swap["metadata"]["sequence_number"]
        assert "ratelimit-limit" in answer.headers

    async def test_saves_row_zero_and_its_message_in_one_commit(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")  # the key is cached from here on

        with api.statements() as seen:
            answer = await api.create(app, a_body())

        assert seen.commits == 1
        assert seen.texts == [CREATE_SWAPS.text]  # BEGIN and COMMIT would be round trips too
        swap_id = answer.json()["data"]["swap"]["id"]
        ((row,), (message,)) = (
            await api.rows("SELECT * FROM swap"),
            await api.rows("SELECT * FROM outbox"),
        )
        assert (str(row.id), row.sequence, row.app_id) == (swap_id, 0, app.id)
        assert (message.topic, message.key) == ("swap.requests.v1", swap_id.encode())
        envelope = Envelope[SwapRequested].model_validate_json(message.payload)
        assert envelope.body.sequence_number == row.sequence_number
        assert envelope.trace_id == trace_id_of(UUID(swap_id))
        assert envelope.body.expires_at - envelope.body.created_at == (
            row.expires_at - row.created_at
        )

    async def test_with_a_key_takes_two_statements(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")

        with api.statements() as seen:
            first = await api.create(app, a_body(), key="k")

        assert seen.texts == [CLAIM.text, CREATE_SWAPS.text]
        again = await api.create(app, a_body(), key="k")
        assert again.headers["idempotent-replayed"] == "true"
        assert again.json()["data"]["swap"] == first.json()["data"]["swap"]

    async def test_takes_the_amount_that_brings_what_is_to_arrive(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.create(app, a_body(amount=None, receive_amount="2970"))

        assert answer.status_code == 200, answer.text
        data = answer.json()["data"]
        assert data["quote"]["receive_amount"] == 2970.0
        assert data["deposit_actions"][0]["amount_in_base_units"] == str(10**18)

    async def test_asks_for_a_price_with_the_apps_own_fee(self, api: Harness) -> None:
        app = await api.an_app()
        await api.parts.management.manage_partners.set_fee(app.id, 25, actor=OPERATOR)

        answer = await api.create(app, a_body())

        assert answer.status_code == 200, answer.text
        assert api.quoter.last is not None
        assert api.quoter.last.partner_fee_basis_points == 25

    async def test_takes_empty_members_for_absent(self, api: Harness) -> None:
        app = await api.an_app()
        empty = ("source_address", "refund_address", "reference_id", "slippage", "refuel")

        answer = await api.create(app, a_body(**dict.fromkeys(empty, "")))

        assert answer.status_code == 200, answer.text
        assert answer.json()["data"]["swap"]["metadata"]["reference_id"] is None

    @pytest.mark.parametrize("flag", [{"use_depository": None}, {"use_depository": False}])
    async def test_is_funded_by_a_direct_transfer_by_default(
        self, api: Harness, flag: dict[str, object]
    ) -> None:
        app = await api.an_app()

        created = await api.create(app, a_body(source_network="BARE_DEVNET", **flag))

        assert created.status_code == 200, created.text
        data = created.json()["data"]
        (action,) = data["deposit_actions"]
        assert (action["type"], action["to_address"]) == ("transfer", TREASURY)
        assert action["amount"] == data["swap"]["requested_amount"] == 1.0
        assert action["amount_in_base_units"] == str(10**18)
        number = data["swap"]["metadata"]["sequence_number"]
        assert action["call_data"] == f"0x53574150{number:056x}"
        (step,) = (await api.get(app, f"/swaps/{data['swap']['id']}/deposit_actions")).json()[
            "data"
        ]
        assert (step["step"], step["status"]) == ("deposit", "action_required")
        assert {name: step[name] for name in action} == action

    async def test_carries_out_the_refuel_that_a_quote_shows(self, api: Harness) -> None:
        app = await api.an_app()
        route = {name: a_body()[name] for name in a_body() if "_address" not in name}

        quoted = await api.get(app, "/quote", params={**route, "refuel": True})
        created = await api.create(app, a_body(refuel=True))

        assert quoted.status_code == created.status_code == 200, created.text
        shown = created.json()["data"]
        assert shown["refuel"] == quoted.json()["data"]["refuel"]
        assert (
            shown["quote"]["refuel_in_source"]
            == (quoted.json()["data"]["quote"]["refuel_in_source"])
        )

    @pytest.mark.parametrize("seconds", [None, 90])
    async def test_has_the_lifetime_of_its_app(self, api: Harness, seconds: int | None) -> None:
        app = await api.an_app(swap_lifetime=seconds and timedelta(seconds=seconds))

        created = await api.create(app, a_body())

        assert created.status_code == 200, created.text
        [row] = await api.rows("SELECT expires_at - created_at AS lifetime FROM swap")
        assert row.lifetime == (timedelta(seconds=seconds) if seconds else timedelta(hours=6))

    async def test_reads_back_the_bytes_it_answered(self, api: Harness) -> None:
        app = await api.an_app()
        created = await api.create(app, a_body())

        read = await api.get(app, f"/swaps/{created.json()['data']['swap']['id']}")

        assert read.content == created.content

    async def test_keeps_a_tokens_amount_to_the_last_base_unit(self, api: Harness) -> None:
        app = await api.an_app()
        raw = orjson.dumps(a_body(source_token="USDC", destination_token="USDC", amount="@"))

        answer = await api.client.post(
            "/api/v2/swaps",
            content=raw.replace(b'"@"', b"0.3000009999999999999999999999"),
            headers=app.headers,
        )

        (action,) = answer.json()["data"]["deposit_actions"]
        assert action["encoded_args"][1:] == [USDC, TREASURY, "300000"]

    async def test_commits_concurrent_creations_together(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")

        with api.statements() as seen:
            answers = await asyncio.gather(*(api.create(app, a_body()) for _ in range(40)))

        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["data"]["swap"]["id"] for answer in answers}) == 40
        assert seen.commits < 10
        assert len(await api.rows("SELECT id FROM outbox")) == 40

    async def test_uses_another_number_when_one_is_in_use(
        self, api: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = await api.an_app()
        numbers = iter([7, 7, 8])
        create = api.endpoint_at("POST", "/api/v2/swaps").handler
        usecase = create.__self__._create_swap  # type: ignore[attr-defined]
        monkeypatch.setattr(usecase, "_new_sequence_number", lambda: next(numbers))

        answers = [await api.create(app, a_body()) for _ in range(2)]

        numbers = [a.json()["data"]["swap"]["metadata"]["sequence_number"] for a in answers]
        assert numbers == [7, 8]
        args = answers[1].json()["data"]["deposit_actions"][0]["encoded_args"]
        assert int(args[0], 16) == 8

    async def test_row_that_cannot_be_saved_does_not_affect_others(self, api: Harness) -> None:
        app = await api.an_app()
        async with api.service.engine.begin() as connection:
            await connection.execute(
                "ALTER TABLE swap ADD CONSTRAINT bad CHECK (reference_id <> 'bad')"
            )
        try:
            answers = await asyncio.gather(
                *(api.create(app, a_body(reference_id=f"{n}")) for n in range(9)),
                api.create(app, a_body(reference_id="bad")),
            )
        finally:
            async with api.service.engine.begin() as connection:
                await connection.execute("ALTER TABLE swap DROP CONSTRAINT bad")

        assert [answer.status_code for answer in answers] == [200] * 9 + [500]
        assert len(await api.rows("SELECT id FROM outbox")) == 9


REFUSED: list[tuple[dict[str, Any], int, str, str]] = [
    ({"amount": None}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": "abc"}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": "NaN"}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": "0x1"}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": -1}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": True}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": [1]}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": "1e400"}, 400, "VALIDATION_ERROR", "amount"),
    ({"amount": 0}, 400, "LESS_THAN_MIN_ERROR", "amount"),
    ({"amount": "0.000000001"}, 400, "LESS_THAN_MIN_ERROR", "amount"),
    ({"amount": "1000000000"}, 400, "GREATER_THAN_MAX_ERROR", "amount"),
    ({"slippage": "0.9"}, 400, "VALIDATION_ERROR", "slippage"),
    ({"source_network": "NOWHERE"}, 404, "ROUTE_NOT_FOUND_ERROR", "source_network"),
    ({"source_token": "DOGE"}, 404, "ROUTE_NOT_FOUND_ERROR", "source_token"),
    ({"destination_network": "ETHEREUM_DEVNET", "destination_token": "ETH"}, 404,
     "ROUTE_NOT_FOUND_ERROR", "destination_token"),
    ({"source_network": None}, 400, "VALIDATION_ERROR", "source_network"),
    ({"use_depository": "maybe"}, 400, "VALIDATION_ERROR", "use_depository"),
    ({"use_depository": None, "use_gasless": True}, 400, "UNSUPPORTED_GASLESS", "use_gasless"),
    ({"use_depository": None, "amount": None}, 400, "VALIDATION_ERROR", "amount"),
    ({"use_depository": None, "use_deposit_address": True, "amount": "0"}, 400,
     "LESS_THAN_MIN_ERROR", "amount"),
    ({"use_depository": None, "use_deposit_address": True, "source_network": "BARE_DEVNET"}, 400,
     "QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS", "use_deposit_address"),
    ({"use_depository": True, "amount": None}, 400, "VALIDATION_ERROR", "amount"),
    ({"use_gasless": True}, 400, "UNSUPPORTED_GASLESS", "use_gasless"),
    ({"use_deposit_address": True}, 400, "CONFLICTING_FUNDING_METHODS", "use_depository"),
    ({"use_depository": None, "use_gasless": True, "use_deposit_address": True}, 400,
     "CONFLICTING_FUNDING_METHODS", "use_gasless"),
    ({"source_network": "BARE_DEVNET"}, 400, "UNSUPPORTED_DEPOSITORY", "use_depository"),
    ({"destination_address": ""}, 400, "VALIDATION_ERROR", "destination_address"),
    ({"destination_address": "0x12"}, 400, "INVALID_ADDRESS_ERROR", "destination_address"),
    ({"refund_address": TREASURY}, 400, "INVALID_ADDRESS_ERROR", "refund_address"),
    ({"source_address": USDC}, 400, "INVALID_ADDRESS_ERROR", "source_address"),
    ({"reference_id": "a\u0000b"}, 400, "VALIDATION_ERROR", "reference_id"),
    ({"reference_id": "\ud800"}, 400, "VALIDATION_ERROR", "reference_id"),
    ({"reference_id": "x" * 257}, 400, "VALIDATION_ERROR", "reference_id"),
    ({"source_exchange": "BIGEX"}, 400, "VALIDATION_ERROR", "source_exchange"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "status", "code", "field"), REFUSED)
@pytest.mark.fault("A7", "A8")
async def test_a7_a8_refuses_with_the_wrong_field_and_saves_no_swap(
    api: Harness, changes: dict[str, Any], status: int, code: str, field: str
) -> None:
    app = await api.an_app()

    answer = await api.client.post(
        "/api/v2/swaps",
        content=json.dumps(a_body(**changes)),
        headers={**app.headers, "content-type": "application/json"},
    )

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), answer.text
    assert answer.json()["data"] is None
    assert error["message"]
    assert field in error["metadata"]["field_errors"]
    if code in ("LESS_THAN_MIN_ERROR", "GREATER_THAN_MAX_ERROR"):
        limit = error["metadata"]["AmountLimit"]
        assert limit > 0
        phrase = "the smallest is" if code == "LESS_THAN_MIN_ERROR" else "the largest is"
        shown, symbol = error["message"].rpartition(f"{phrase} ")[2].split()
        assert (float(shown), symbol) == (limit, "ETH")
    assert await api.rows("SELECT id FROM swap") == []


async def test_an_unknown_network_names_the_nearest_ones(api: Harness) -> None:
    app = await api.an_app()

    answer = await api.create(app, a_body(source_network="ETHERUM_DEVNET"))
    listed = await api.get(app, "/destinations", params={"source_network": "ETHERUM_DEVNET"})

    for refused in (answer.json()["error"], listed.json()["error"]):
        assert refused["message"] == "Route not found"
        assert "ETHEREUM_DEVNET" in refused["metadata"]["field_errors"]["source_network"]


BY_ADDRESS: Final = {"use_depository": None, "use_deposit_address": True}


class TestADepositAddress:
    async def test_is_the_swaps_own_and_takes_a_transfer_by_any_means(self, api: Harness) -> None:
        app = await api.an_app()

        made = [await api.create(app, a_body(**BY_ADDRESS)) for _ in range(2)]

        first, second = (answer.json()["data"] for answer in made)
        (action,) = first["deposit_actions"]
        number = first["swap"]["metadata"]["sequence_number"]
        assert action["to_address"] == deposit_address(FACTORY, INIT_CODE_HASH, number)
        assert action["to_address"] != second["deposit_actions"][0]["to_address"]
        assert (action["type"], action["call_data"]) == ("manual_transfer", None)
        assert (action["amount"], action["amount_in_base_units"]) == (1.0, str(10**18))
        assert first["swap"]["use_deposit_address"] is True

        (step,) = (await api.get(app, f"/swaps/{first['swap']['id']}/deposit_actions")).json()[
            "data"
        ]
        assert (step["step"], step["status"]) == ("deposit", "action_required")
        assert {name: step[name] for name in action} == action
        assert step["detail"] == f"ethereum:{action['to_address']}@31337?value={10**18}"

    async def test_needs_no_amount(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.create(app, a_body(**BY_ADDRESS, amount=None))

        assert answer.status_code == 200, answer.text
        data = answer.json()["data"]
        (action,) = data["deposit_actions"]
        assert (action["amount"], action["amount_in_base_units"]) == (0, "0")
        assert data["swap"]["requested_amount"] == data["quote"]["receive_amount"] == 0
        assert data["quote"]["rate"] > 0
        assert data["quote"]["avg_completion_time"]

    async def test_is_refused_with_503_before_its_factory_was_read(self, api: Harness) -> None:
        app = await api.an_app()
        api.factories.start_without_nodes()

        answer = await api.create(app, a_body(**BY_ADDRESS), key="k")

        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert await api.rows("SELECT 1 FROM idempotency") == []
        assert (await api.create(app, a_body())).status_code == 200  # other methods continue

    async def test_is_a_way_to_quote_where_the_network_has_some(self, api: Harness) -> None:
        app = await api.an_app()
        route = {name: a_body()[name] for name in a_body() if "_address" not in name}
        query = {**route, "use_depository": False, "use_deposit_address": True}

        quoted = await api.get(app, "/quote", params=query)
        refused = await api.get(app, "/limits", params={**query, "source_network": "BARE_DEVNET"})

        assert quoted.status_code == 200, quoted.text
        assert refused.json()["error"]["code"] == "QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS"


class TestTheQuoter:
    async def test_unavailable_is_reported_immediately_and_no_swap_is_saved(
        self, api: Harness
    ) -> None:
        app = await api.an_app()
        api.quoter.is_away = True

        answer = await api.create(app, a_body(), key="k")

        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert await api.rows("SELECT 1 FROM idempotency") == []

    async def test_a_provider_in_the_route_asks_for_a_refund_address(self, api: Harness) -> None:
        app = await api.an_app()
        api.quoter.provider = "UNISWAP_V3"

        refused = await api.create(app, a_body())
        created = await api.create(app, a_body(refund_address=BOB))

        assert refused.json()["error"]["code"] == "REFUND_ADDRESS_REQUIRED"
        assert created.json()["data"]["quote"]["path"][0]["provider"] == "UNISWAP_V3"
