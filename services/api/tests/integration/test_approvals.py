"""The approval of a token for the Depository: the first step where the allowance is too small."""

from __future__ import annotations

from typing import Any

import pytest
from api_factories import DEPOSITORY, HASH, USDC, a_body
from api_harness import App, Harness

from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected

WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
UNITS = 25_500_000


@pytest.fixture
async def app(api: Harness) -> App:
    return await api.an_app()


async def a_swap(api: Harness, app: App, **changes: Any) -> str:
    body = a_body(**{"source_token": "USDC", "amount": 25.5, "use_depository": True, **changes})
    answer = await api.create(app, body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["swap"]["id"])


async def steps(api: Harness, app: App, swap_id: str, **query: str) -> Any:
    answer = await api.get(app, f"/swaps/{swap_id}/deposit_actions", params=query)
    return answer.json()["data"] or answer.json()["error"]


async def next_action(api: Harness, app: App, swap_id: str, **query: str) -> Any:
    answer = await api.get(app, f"/experimental/swaps/{swap_id}", params=query)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert data["deposit_actions"] == []
    return data["next_action"]


@pytest.mark.parametrize(
    "path",
    [
        "/swaps/{}",
        "/swaps/{}/deposit_actions",
        "/experimental/swaps/{}",
    ],
)
async def test_a_wallet_that_is_none_is_refused_in_every_view(
    api: Harness, app: App, path: str
) -> None:
    swap_id = await a_swap(api, app)

    answer = await api.get(app, path.format(swap_id), params={"source_address": "nobody"})

    assert answer.json()["error"]["code"] == "INVALID_ADDRESS_ERROR"


class TestAShortAllowance:
    async def test_asks_for_the_exact_approval_before_the_deposit(
        self, api: Harness, app: App
    ) -> None:
        api.chains.allowed = UNITS - 1

        approve, deposit = await steps(
            api, app, await a_swap(api, app), source_address=WALLET.lower()
        )

        assert (approve["step"], approve["type"]) == ("approve", "approve")
        assert approve["status"] == "action_required"
        assert (approve["to_address"], approve["amount_in_base_units"]) == (USDC, "0")
        spender = DEPOSITORY[2:].lower().rjust(64, "0")
        assert approve["call_data"] == f"0x095ea7b3{spender}{UNITS:064x}"
        assert approve["encoded_args"] == [DEPOSITORY, str(UNITS)]
        assert (deposit["step"], deposit["type"], deposit["status"]) == (
            "deposit",
            "transfer",
            "pending",
        )
        nothing = ("to_address", "call_data", "network", "token", "gas_limit", "encoded_args")
        assert [deposit[name] for name in nothing] == [None] * len(nothing)
        assert api.chains.allowances_asked == [("ETHEREUM_DEVNET", USDC, WALLET, DEPOSITORY)]

    async def test_is_requested_once_and_equal_in_every_view(self, api: Harness, app: App) -> None:
        swap_id = await a_swap(api, app)

        [item, _] = await steps(api, app, swap_id, source_address=WALLET)
        action = await next_action(api, app, swap_id, source_address=WALLET)
        read = await api.get(app, f"/swaps/{swap_id}", params={"source_address": WALLET})
        [inline] = read.json()["data"]["deposit_actions"]

        assert len(api.chains.allowances_asked) == 3
        assert action["action"] == inline
        assert item == {**inline, **{name: action[name] for name in action if name != "action"}}
        assert action["step"] == "approve"

    async def test_stands_in_the_answer_that_creates_the_swap(self, api: Harness, app: App) -> None:
        body = a_body(
            source_token="USDC", amount=25.5, use_depository=True, source_address=WALLET.lower()
        )

        created = (await api.create(app, body)).json()["data"]

        assert api.chains.allowances_asked == [("ETHEREUM_DEVNET", USDC, WALLET, DEPOSITORY)]
        [inline] = created["deposit_actions"]
        [item, _] = await steps(api, app, created["swap"]["id"], source_address=WALLET)
        assert inline["type"] == "approve"
        assert item == {**item, **inline}

    async def test_stands_there_no_more_once_it_is_given(self, api: Harness, app: App) -> None:
        api.chains.allowed = UNITS
        body = a_body(source_token="USDC", amount=25.5, use_depository=True, source_address=WALLET)

        created = (await api.create(app, body)).json()["data"]

        [inline] = created["deposit_actions"]
        [item] = await steps(api, app, created["swap"]["id"], source_address=WALLET)
        assert inline["type"] == "transfer"
        assert item == {**item, **inline}


class TestByHash:
    async def hash_of(self, api: Harness, swap_id: str, app: App) -> str:
        async with api.service.engine.begin() as connection:
            await connection.execute(
                sql(
                    "INSERT INTO transaction_hash (app_id, hash, swap_id)"
                    " VALUES (:app_id, :hash, :swap_id)"
                ),
                {"app_id": app.id, "hash": HASH, "swap_id": swap_id},
            )
        return HASH

    async def by_hash(self, api: Harness, app: App, swap_id: str, **query: str) -> Any:
        path = f"/swaps/by_transaction_hash/{await self.hash_of(api, swap_id, app)}"
        answer = await api.get(app, path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def test_both_forms_are_of_one_look_at_the_chain(self, api: Harness, app: App) -> None:
        swap_id = await a_swap(api, app)

        found = await self.by_hash(api, app, swap_id, source_address=WALLET)

        assert len(api.chains.allowances_asked) == 1
        assert found["next_action"]["step"] == "approve"
        assert found["deposit_actions"] == [found["next_action"]["action"]]
        assert found["next_action"] == await next_action(api, app, swap_id, source_address=WALLET)

    async def test_of_a_signature_names_the_missing_part(self, api: Harness, app: App) -> None:
        await api.parts.funding.offers.gasless.refresh()
        swap_id = await a_swap(api, app, use_gasless=True, use_depository=False)

        found = await self.by_hash(api, app, swap_id)

        assert (found["deposit_actions"], found["next_action"]["step"]) == ([], "sign")

    async def test_of_a_signature_asks_for_it_where_the_signer_is_named(
        self, api: Harness, app: App
    ) -> None:
        await api.parts.funding.offers.gasless.refresh()
        swap_id = await a_swap(api, app, use_gasless=True, use_depository=False)

        found = await self.by_hash(api, app, swap_id, source_address=WALLET)

        [action] = found["deposit_actions"]
        assert action == found["next_action"]["action"]
        assert action["typed_data"]["message"]

    async def test_is_read_although_no_node_answers(self, api: Harness, app: App) -> None:
        await api.parts.funding.offers.gasless.refresh()
        swap_id = await a_swap(api, app, use_gasless=True, use_depository=False)
        api.chains.is_away = True

        found = await self.by_hash(api, app, swap_id, source_address=WALLET)

        assert (found["deposit_actions"], found["next_action"]) == ([], None)


class TestNoApproval:
    @pytest.mark.parametrize(
        ("changes", "query"),
        [
            ({}, {}),
            ({"use_depository": None}, {"source_address": WALLET}),
            ({"source_token": "ETH", "amount": 1}, {"source_address": WALLET}),
        ],
    )
    async def test_is_looked_up_without_a_wallet_or_a_pulled_token(
        self, api: Harness, app: App, changes: dict[str, Any], query: dict[str, str]
    ) -> None:
        [deposit] = await steps(api, app, await a_swap(api, app, **changes), **query)

        assert (deposit["step"], deposit["status"]) == ("deposit", "action_required")
        assert deposit["call_data"] is not None
        assert api.chains.allowances_asked == []

    @pytest.mark.parametrize("fault", ["enough", "away"])
    async def test_is_requested_when_the_balance_suffices_or_is_unknown(
        self, api: Harness, app: App, fault: str
    ) -> None:
        api.chains.allowed, api.chains.is_away = UNITS, fault == "away"

        [deposit] = await steps(api, app, await a_swap(api, app), source_address=WALLET)

        assert (deposit["type"], deposit["status"]) == ("transfer", "action_required")

    async def test_is_read_for_what_is_no_address(self, api: Harness, app: App) -> None:
        error = await steps(api, app, await a_swap(api, app), source_address="0x12")

        assert error["code"] == "INVALID_ADDRESS_ERROR"


class TestTheNextAction:
    async def test_is_the_deposit_where_no_other_step_is_required(
        self, api: Harness, app: App
    ) -> None:
        swap_id = await a_swap(api, app)

        action = await next_action(api, app, swap_id)
        [deposit] = await steps(api, app, swap_id)

        assert (action["step"], action["status"]) == ("deposit", "action_required")
        assert deposit == {**action["action"], **{k: v for k, v in action.items() if k != "action"}}

    async def test_of_a_signature_names_the_missing_part(self, api: Harness, app: App) -> None:
        await api.parts.funding.offers.gasless.refresh()
        swap_id = await a_swap(api, app, use_gasless=True, use_depository=False)

        action = await next_action(api, app, swap_id)

        assert (action["step"], action["action"]) == ("sign", None)
        assert "source_address" in action["detail"]

    async def test_of_another_partners_swap_is_not_shown(self, api: Harness, app: App) -> None:
        other = await api.an_app()
        swap_id = await a_swap(api, app)

        answer = await api.get(other, f"/experimental/swaps/{swap_id}")

        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
