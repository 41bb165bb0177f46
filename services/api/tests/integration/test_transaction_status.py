"""The status of a transaction: of a swap, one that only a node has, and an unknown one."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from api_factories import HASH, a_body, a_message, a_swap, an_input
from api_harness import App, Harness

from swap_api.admission.store.callers import FIND_CALLERS
from swap_api.model.keys import Environment, KeyKind
from swap_chains.evm.transaction_lookup import LocatedTransaction, TransactionState
from swap_contracts.public.lookups import TransactionStatusModel
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

OTHER_HASH = "0x" + "cd" * 32
ETHEREUM = "ETHEREUM_DEVNET"
REVERTED = LocatedTransaction(TransactionState.REVERTED, 7)
IN_MEMPOOL = LocatedTransaction(TransactionState.IN_MEMPOOL)
MINED = LocatedTransaction(TransactionState.MINED, 7)
HEAD = """
INSERT INTO chain_watcher.watch_cursor
  (network, hash, parent_hash, number, time, finalized_number, start_number, checked_number)
VALUES ('ETHEREUM_DEVNET', '0x07', '0x06', 20, now(), 5, 0, 5)
"""


@pytest.fixture
async def app(api: Harness) -> App:
    return await api.an_app()


async def look_up(
    api: Harness, app: App, transaction_id: str = HASH, network: str = ETHEREUM
) -> httpx.Response:
    params = {"network": network, "transaction_id": transaction_id}
    return await api.get(app, "/transaction_status", params=params)


async def status(api: Harness, app: App, *names: str) -> TransactionStatusModel:
    answer = await look_up(api, app, *names)
    assert answer.status_code == 200, answer.text
    return TransactionStatusModel.model_validate(answer.json()["data"])


def depends_on_cache(statement: str) -> bool:
    """Whether the statement depends on the age of a cached answer: of a key, or of a head."""
    return statement == FIND_CALLERS.text or "watch" in statement


async def hint(api: Harness, app: App, transaction_id: str = HASH, **changes: Any) -> None:
    created = await api.create(app, a_body(**changes))
    swap_id = created.json()["data"]["swap"]["id"]
    path = f"/swaps/{swap_id}/deposit_speedup"
    answer = await api.post(app, path, {"transaction_id": transaction_id})
    assert answer.status_code == 200


class TestOfASwap:
    async def test_is_read_from_the_swap_without_a_node(self, api: Harness, app: App) -> None:
        swap = a_swap(app_id=app.id, transactions=(an_input(),))
        await api.parts.swaps.store_swaps([a_message(swap)])
        api.transactions.located[ETHEREUM, HASH] = REVERTED

        found = await status(api, app, HASH.upper().replace("X", "x"))

        assert (found.status, found.is_found, found.transaction_id) == ("pending", True, HASH)
        assert api.transactions.requests == []

    async def test_on_another_network_is_looked_up_there(self, api: Harness, app: App) -> None:
        swap = a_swap(app_id=app.id, transactions=(an_input(),))
        await api.parts.swaps.store_swaps([a_message(swap)])

        assert (await look_up(api, app, HASH, "BASE_DEVNET")).status_code == 404
        assert api.transactions.requests == [("BASE_DEVNET", HASH)]


class TestWithoutASwap:
    @pytest.mark.parametrize(
        ("located", "expected"),
        [
            (REVERTED, ("failed", True, 2)),
            (MINED, ("pending", True, 2)),
            (IN_MEMPOOL, ("pending", True, 0)),
        ],
    )
    async def test_is_what_a_node_reports(
        self,
        api: Harness,
        app: App,
        database: Database,
        located: LocatedTransaction,
        expected: object,
    ) -> None:
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(HEAD)
        api.transactions.located[ETHEREUM, HASH] = located

        for network in (ETHEREUM, "31337", ETHEREUM.lower()):
            found = await status(api, app, HASH.upper().replace("X", "x"), network)
            assert (found.status, found.is_found, found.confirmations) == expected
            assert (found.network, found.transaction_id) == (ETHEREUM, HASH)
            assert (found.is_completed, found.max_confirmations) == (False, 2)

    async def test_an_unwatched_block_is_confirmed_once(self, api: Harness, app: App) -> None:
        api.transactions.located[ETHEREUM, HASH] = MINED

        assert (await status(api, app)).confirmations == 1

    async def test_a_hint_that_reverts_has_failed(self, api: Harness, app: App) -> None:
        await hint(api, app)
        api.transactions.located[ETHEREUM, HASH] = REVERTED

        assert (await status(api, app)).status == "failed"

    async def test_a_publishable_key_may_ask(self, api: Harness, app: App) -> None:
        browser = await api.another_key(app, KeyKind.PUBLISHABLE)
        api.transactions.located[ETHEREUM, HASH] = REVERTED

        assert (await status(api, browser)).status == "failed"


class TestOfWhatNoNodeKnows:
    async def test_is_pending_and_not_found_where_a_hint_names_it(
        self, api: Harness, app: App
    ) -> None:
        await hint(api, app)

        found = await status(api, app, HASH.upper().replace("X", "x"))

        assert (found.status, found.is_found, found.confirmations) == ("pending", False, 0)

    async def test_is_not_there_without_a_hint(self, api: Harness, app: App) -> None:
        await hint(api, app, OTHER_HASH)

        answer = await look_up(api, app)

        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")

    async def test_is_not_there_for_a_hint_about_another_network(
        self, api: Harness, app: App
    ) -> None:
        await hint(api, app)

        assert (await look_up(api, app, HASH, "BASE_DEVNET")).status_code == 404

    @pytest.mark.parametrize("name", ["nonsense", "0x12", HASH + "00", HASH[2:]])
    async def test_an_invalid_hash_is_not_looked_up(
        self, api: Harness, app: App, name: str
    ) -> None:
        assert (await look_up(api, app, name)).status_code == 404
        assert api.transactions.requests == []

    async def test_a_key_of_the_other_environment_sees_no_network(self, api: Harness) -> None:
        live = await api.an_app(environment=Environment.LIVE)
        api.transactions.located[ETHEREUM, HASH] = REVERTED

        assert (await look_up(api, live)).status_code == 404
        assert api.transactions.requests == []


class TestWhileNoNodeAnswers:
    async def test_a_hint_is_still_pending(self, api: Harness, app: App) -> None:
        await hint(api, app)
        api.transactions.is_away = True

        found = await status(api, app)

        assert (found.status, found.is_found) == ("pending", False)

    async def test_transaction_without_a_hint_is_answered_with_503(
        self, api: Harness, app: App
    ) -> None:
        """A 404 would claim that the transaction does not exist, which is unknown."""
        api.transactions.is_away = True

        answer = await look_up(api, app)

        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert answer.headers["retry-after"] == "1"

    async def test_a_swaps_is_read_all_the_same(self, api: Harness, app: App) -> None:
        await api.parts.swaps.store_swaps(
            [a_message(a_swap(app_id=app.id, transactions=(an_input(),)))]
        )
        api.transactions.is_away = True

        assert (await status(api, app)).status == "pending"


class TestOfAnotherTenants:
    @pytest.mark.parametrize("located", [None, REVERTED, IN_MEMPOOL, MINED])
    @pytest.mark.parametrize("is_away", [False, True])
    @pytest.mark.fault("A1")
    async def test_a1_swap_or_hint_is_answered_like_an_unknown_transaction(
        self, api: Harness, app: App, located: LocatedTransaction | None, *, is_away: bool
    ) -> None:
        """A deposit, a payout and a hint of the other tenant, and an unknown hash."""
        theirs, unknown = await api.an_app(), "0x" + uuid4().hex * 2
        hinted = "0x" + "ee" * 32
        swap = a_swap(app_id=theirs.id, transactions=(an_input(),))
        await api.parts.swaps.store_swaps([a_message(swap)])
        await hint(api, theirs, hinted)
        if located is not None:
            for one in (HASH, hinted, unknown):
                api.transactions.located[ETHEREUM, one] = located
        api.transactions.is_away = is_away

        answers, statements = [], []
        for one in (HASH, hinted, unknown):
            with api.statements() as seen:
                answer = await look_up(api, app, one)
            content = answer.json()
            (content["data"] or {}).pop("transaction_id", None)
            (content["error"] or {"metadata": {}})["metadata"].pop("request_id", None)
            answers.append((answer.status_code, content))
            statements.append([text for text in seen.texts if not depends_on_cache(text)])

        assert answers[0] == answers[1] == answers[2]
        assert statements[0] == statements[1] == statements[2]
