"""The contracts' answers determine which methods of depositing are open."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from api_factories import DEPOSITORY, TREASURY, a_body, a_catalogue, a_catalogue_document
from api_harness import App, Harness, start

from swap_api.funding.adapters.chains import EvmDepositories
from swap_api.funding.adapters.deposit_addresses import CheckedDepositAddresses
from swap_api.model.refusals import ApiRefusal
from swap_chains.errors import ChainMismatch
from swap_chains.evm.codec import encode_is_whitelisted, selector
from swap_chains.evm.depositories import IS_NOT_LISTED, IS_PAUSED
from swap_chains.evm.rpc import open_session
from swap_runtime.errors import Unavailable
from swap_runtime.telemetry.metrics import REGISTRY

pytestmark = pytest.mark.connected

NAME = "ETHEREUM_DEVNET"
PAUSED = "0x" + selector("paused()").hex()
LISTED = "0x" + encode_is_whitelisted(TREASURY).hex()
NO, YES = f"0x{0:064x}", f"0x{1:064x}"


@asynccontextmanager
async def a_node(result: Callable[[Mapping[str, Any]], str]) -> AsyncIterator[str]:
    """A node with configured answers."""

    async def answer(request: web.Request) -> web.Response:
        questions = await request.json()
        replies = [
            {"jsonrpc": "2.0", "id": one["id"], "result": result(one)}
            for one in (questions if isinstance(questions, list) else [questions])
        ]
        return web.json_response(replies if isinstance(questions, list) else replies[0])

    app = web.Application()
    app.router.add_post("/", answer)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


@pytest.fixture
async def without_factory(
    database_url: str, redis_url: str, catalogue_file: Path
) -> AsyncIterator[Harness]:
    """A service that started while no factory answered."""
    harness = start(database_url, redis_url, catalogue_file)
    harness.factories.is_away = True
    await harness.parts.funding.offers.deposit_addresses.refresh()
    yield harness
    await harness.stop()


async def deposit_methods(api: Harness, app: App) -> dict[str, list[str]]:
    answer = await api.get(app, "/networks")
    return {network["name"]: network["deposit_methods"] for network in answer.json()["data"]}


async def sources(api: Harness, app: App) -> set[str]:
    query = {"has_deposit_address": "true", "destination_network": "BASE_DEVNET"}
    answer = await api.get(app, "/sources", params=query)
    networks = answer.json()["data"]
    return {n["name"] for n in networks if any(t["status"] == "active" for t in n["tokens"])}


class TestDepositAddresses:
    async def test_are_not_offered_before_the_factory_has_answered(
        self, without_factory: Harness
    ) -> None:
        app = await without_factory.an_app()

        assert set(map(tuple, (await deposit_methods(without_factory, app)).values())) == {
            ("wallet",)
        }
        assert await sources(without_factory, app) == set()
        refused = await without_factory.create(
            app, a_body(use_depository=False, use_deposit_address=True)
        )
        assert refused.status_code == HTTPStatus.SERVICE_UNAVAILABLE

    async def test_are_offered_once_it_has_and_from_then_on(self, without_factory: Harness) -> None:
        app = await without_factory.an_app()
        assert await sources(without_factory, app) == set()
        offer = without_factory.parts.funding.offers.deposit_addresses

        for is_away in (False, True):
            without_factory.factories.is_away = is_away
            await offer.refresh()

            offered = await deposit_methods(without_factory, app)
            assert offered[NAME] == ["wallet", "deposit_address"]
            assert offered["BARE_DEVNET"] == ["wallet"]
            assert NAME in await sources(without_factory, app)


class TestDepository:
    @pytest.fixture
    async def app(self, api: Harness) -> App:
        return await api.an_app()

    async def closed(self, api: Harness, *findings: str) -> None:
        api.depositories.against[NAME] = list(findings)
        await api.parts.funding.offers.depository.refresh()

    async def requests_of_each_kind(
        self, api: Harness, app: App, **changes: Any
    ) -> list[httpx.Response]:
        """Request a swap, and prices of one, by every endpoint."""
        body = a_body(**changes)
        methods = {
            name: str(value).lower() for name, value in body.items() if name.startswith("use_")
        }
        ends = {
            name: value for name, value in body.items() if "_network" in name or "_token" in name
        }
        query = {**ends, **methods}
        return [
            await api.create(app, body),
            await api.get(app, "/quote", params={**query, "amount": "1"}),
            await api.get(app, "/limits", params=query),
            await api.get(app, "/detailed_quote", params=query),
        ]

    @pytest.mark.parametrize(
        "finding",
        [
            pytest.param(IS_PAUSED, id="g18_paused"),
            pytest.param(IS_NOT_LISTED, id="g17_the_treasury_is_not_listed"),
        ],
    )
    @pytest.mark.fault("G17", "G18")
    async def test_g17_g18_that_is_closed_is_refused_and_other_ways_are_named(
        self, api: Harness, app: App, finding: str
    ) -> None:
        await self.closed(api, finding)

        for answer in await self.requests_of_each_kind(api, app):
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (400, "UNSUPPORTED_DEPOSITORY")
            assert "closed for the moment" in error["message"]
            assert "transfer directly or to a deposit address instead" in error["message"]
            assert set(error["metadata"]["field_errors"]) == {"use_depository"}

    @pytest.mark.fault("G18")
    async def test_g18_other_methods_and_networks_stay_open(self, api: Harness, app: App) -> None:
        before = await deposit_methods(api, app)
        await api.parts.funding.offers.gasless.refresh()
        await self.closed(api, IS_PAUSED)

        for other in (
            {"use_depository": False},
            {"use_depository": False, "use_deposit_address": True},
            {"source_network": "BASE_DEVNET", "destination_network": NAME},
        ):
            assert {a.status_code for a in await self.requests_of_each_kind(api, app, **other)} == {
                HTTPStatus.OK
            }
        # A wallet may transfer directly, so this method stays.
        assert await deposit_methods(api, app) == before

    @pytest.mark.fault("G18")
    async def test_g18_only_ways_that_there_are_are_named(self, without_factory: Harness) -> None:
        app = await without_factory.an_app()
        await self.closed(without_factory, IS_PAUSED)

        refused = await without_factory.create(app, a_body())

        assert refused.json()["error"]["message"].endswith("; transfer directly instead")

    @pytest.mark.fault("G18")
    async def test_g18_a_swap_of_before_keeps_its_action(self, api: Harness, app: App) -> None:
        made = (await api.create(app, a_body())).json()["data"]
        await self.closed(api, IS_PAUSED)

        read = await api.get(app, f"/swaps/{made['swap']['id']}")

        assert read.json()["data"]["deposit_actions"] == made["deposit_actions"]

    @pytest.mark.fault("G18")
    async def test_g18_a_key_that_was_refused_is_free_once_it_opens(
        self, api: Harness, app: App
    ) -> None:
        await self.closed(api, IS_PAUSED)
        refused = await api.create(app, a_body(), key="order-1")
        await self.closed(api)
        made = await api.create(app, a_body(), key="order-1")

        assert (refused.status_code, made.status_code) == (400, 200)

    @pytest.mark.fault("G17")
    async def test_g17_unavailable_node_neither_closes_nor_opens_a_method(
        self, api: Harness, app: App
    ) -> None:
        """Before the first query, the methods of the catalogue are offered."""
        seen = []
        for findings, is_away in (
            ([IS_PAUSED], True),
            ([IS_PAUSED], False),
            ([], True),
            ([], False),
        ):
            api.depositories.is_away = is_away
            await self.closed(api, *findings)
            seen.append((await api.create(app, a_body())).status_code)

        assert seen == [200, 400, 400, 200]

    @pytest.mark.fault("G17")
    async def test_g17_that_closes_alarms_once(
        self, api: Harness, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def open_sockets() -> list[float | None]:
            name = "swap_api_depository_offered"
            names = (NAME, "BASE_DEVNET")
            return [REGISTRY.get_sample_value(name, {"network": one}) for one in names]

        assert open_sockets() == [1, 1]
        for _ in range(2):
            await self.closed(api, IS_NOT_LISTED)
            assert open_sockets() == [0, 1]
        output = capfd.readouterr()
        assert f"{output.out}{output.err}".count("depository closed") == 1

        await self.closed(api)
        assert open_sockets() == [1, 1]

    @pytest.mark.fault("G17")
    async def test_g17_network_without_gasless_tokens_is_read_too(
        self, database_url: str, redis_url: str, tmp_path: Path
    ) -> None:
        document = a_catalogue_document()
        for network in document["networks"]:
            for token in network["tokens"]:
                token.pop("gasless", None)
        path = tmp_path / "plain.yaml"
        path.write_text(json.dumps(document))
        plain = start(database_url, redis_url, path)
        app = await plain.an_app()
        plain.depositories.against[NAME] = [IS_PAUSED]

        await plain.parts.funding.offers.refresh()
        refused = await plain.create(app, a_body())
        await plain.stop()

        assert refused.json()["error"]["code"] == "UNSUPPORTED_DEPOSITORY"


class TestAskedDepository:
    """How a node's answers about the Depository of the catalogue are interpreted."""

    async def found(self, words: Mapping[str, str], *, chain_id: int = 31337) -> Sequence[str]:
        def result(question: Mapping[str, Any]) -> str:
            if question["method"] == "eth_chainId":
                return hex(chain_id)
            assert question["params"][0]["to"] == DEPOSITORY
            return words[question["params"][0]["data"]]

        catalogue = a_catalogue()
        async with a_node(result) as url, open_session() as session:
            depositories = EvmDepositories(catalogue, {NAME: (url,)}, session)
            return await depositories.findings(catalogue.network(NAME))

    @pytest.mark.fault("G17", "G18")
    async def test_g17_g18_matches_its_declaration(self) -> None:
        assert await self.found({PAUSED: NO, LISTED: YES}) == []
        assert await self.found({PAUSED: YES, LISTED: YES}) == [IS_PAUSED]
        assert await self.found({PAUSED: NO, LISTED: NO}) == [IS_NOT_LISTED]

    @pytest.mark.fault("G17")
    async def test_g17_answer_of_another_form_or_chain_is_refused(self) -> None:
        with pytest.raises(Unavailable):
            await self.found({PAUSED: "0x", LISTED: "0x"})
        with pytest.raises(Unavailable):
            await self.found({PAUSED: YES, LISTED: NO}, chain_id=1)


class TestFactory:
    """Answers of a node for a missing factory, or one with different code."""

    @pytest.mark.parametrize("code", ["0x", "0x6001"], ids=["none", "another"])
    async def test_that_is_external_is_refused(self, code: str) -> None:
        def result(question: Mapping[str, Any]) -> str:
            results = {"eth_chainId": hex(31337), "eth_getCode": code}
            return results.get(question["method"], "0x" + "00" * 32)

        catalogue = a_catalogue()
        network = catalogue.network(NAME)
        async with a_node(result) as url, open_session() as session:
            urls = {one: (url,) for one in catalogue.networks}
            checked = CheckedDepositAddresses(catalogue, urls, session)

            with pytest.raises(ApiRefusal, match="cannot be given"):
                await checked.verify(network)
            with pytest.raises(ChainMismatch):
                await checked.verify_all()  # a process with this configuration does not start
