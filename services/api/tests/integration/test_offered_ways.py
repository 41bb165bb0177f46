"""What partners see of deposit addresses comes from what the factories really answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from api_factories import a_body, a_catalogue
from api_harness import App, Harness, start

from swap_api.adapters.deposit_addresses import CheckedDepositAddresses
from swap_api.domain.refusals import ApiRefusal
from swap_chains.errors import ChainMismatch
from swap_chains.evm.rpc import open_session

pytestmark = pytest.mark.connected

NAME = "ETHEREUM_DEVNET"


@pytest.fixture
async def begun(database_url: str, redis_url: str, catalogue_file: Path) -> AsyncIterator[Harness]:
    """A service that began while no factory answered."""
    harness = start(database_url, redis_url, catalogue_file)
    harness.factories.is_away = True
    await harness.parts.offer_deposit_addresses.refresh()
    yield harness
    await harness.stop()


async def ways(api: Harness, app: App) -> dict[str, list[str]]:
    answer = await api.get(app, "/networks")
    return {network["name"]: network["deposit_methods"] for network in answer.json()["data"]}


async def sources(api: Harness, app: App) -> set[str]:
    query = {"has_deposit_address": "true", "destination_network": "BASE_DEVNET"}
    answer = await api.get(app, "/sources", params=query)
    told = answer.json()["data"]
    return {n["name"] for n in told if any(t["status"] == "active" for t in n["tokens"])}


class TestDepositAddresses:
    async def test_are_not_offered_before_the_factory_has_answered(self, begun: Harness) -> None:
        app = await begun.an_app()

        assert set(map(tuple, (await ways(begun, app)).values())) == {("wallet",)}
        assert await sources(begun, app) == set()
        refused = await begun.create(app, a_body(use_depository=False, use_deposit_address=True))
        assert refused.status_code == HTTPStatus.SERVICE_UNAVAILABLE

    async def test_are_offered_once_it_has_and_from_then_on(self, begun: Harness) -> None:
        app = await begun.an_app()
        assert await sources(begun, app) == set()
        offer = begun.parts.offer_deposit_addresses

        for is_away in (False, True):
            begun.factories.is_away = is_away
            await offer.refresh()

            told = await ways(begun, app)
            assert told[NAME] == ["wallet", "deposit_address"]
            assert told["BARE_DEVNET"] == ["wallet"]
            assert NAME in await sources(begun, app)


class TestFactory:
    """What a node says when no factory is there, or one with other code."""

    @pytest.mark.parametrize("code", ["0x", "0x6001"], ids=["none", "another"])
    async def test_that_is_not_ours_is_refused(self, code: str) -> None:
        async def answer(request: web.Request) -> web.Response:
            asked = await request.json()
            told = [
                {"jsonrpc": "2.0", "id": one["id"], "result": result(one["method"])}
                for one in (asked if isinstance(asked, list) else [asked])
            ]
            return web.json_response(told if isinstance(asked, list) else told[0])

        def result(method: str) -> Any:
            return code if method == "eth_getCode" else "0x" + "00" * 32

        app = web.Application()
        app.router.add_post("/", answer)
        catalogue = a_catalogue()
        network = catalogue.network(NAME)
        async with TestServer(app) as server, open_session() as session:
            urls = {one: (str(server.make_url("/")),) for one in catalogue.networks}
            checked = CheckedDepositAddresses(catalogue, urls, session)

            with pytest.raises(ApiRefusal, match="cannot be given"):
                await checked.verify(network)
            with pytest.raises(ChainMismatch):
                await checked.verify_all()  # a process that is configured so does not start
