"""What the watcher makes of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import aiohttp
import orjson
import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestServer
from watch_factories import NETWORK, a_block, a_network

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.chains import EvmChain
from swap_chains.errors import ChainUnavailable
from swap_chains.evm.rpc import open_session


def a_chain(urls: Sequence[str], session: aiohttp.ClientSession) -> EvmChain:
    return EvmChain(
        a_network(),
        urls,
        session,
        poll_interval=timedelta(seconds=1),
        node_timeout=timedelta(seconds=1),
        range_blocks_max=10,
    )


@pytest.mark.parametrize(
    ("urls", "count"),
    [
        (["http://a"], 1),
        (["http://a", "http://a"], 1),
        (["http://a/key", "http://a/other-key"], 1),
        (["http://a", "http://b"], 2),
    ],
)
async def test_takes_only_another_host_for_another_provider(urls: list[str], count: int) -> None:
    async with open_session() as session:
        assert len(a_chain(urls, session).providers) == count


async def test_counts_a_node_whose_final_block_is_another() -> None:
    async def answer(request: web.Request) -> web.Response:
        asked = orjson.loads(await request.read())
        if asked["method"] == "eth_chainId":
            return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": hex(31337)})
        header = {
            "number": asked["params"][0],
            "hash": f"0x{9:064x}",
            "parentHash": f"0x{8:064x}",
            "timestamp": "0x1",
        }
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": header})

    application = web.Application()
    application.router.add_post("/", answer)
    counted = observe.CONTRADICTIONS.labels(NETWORK)._value
    before = counted.get()
    async with TestServer(application) as server, open_session() as session:
        chain = a_chain([str(server.make_url("/"))], session)
        with pytest.raises(ChainUnavailable):
            await chain.second_reader.movements(first=1, last=a_block(5))

    assert counted.get() > before


@pytest.mark.parametrize(
    ("providers", "is_live", "warnings"), [(1, True, 1), (2, True, 0), (1, False, 0)]
)
def test_warns_of_a_live_network_that_one_provider_is_believed_about(
    providers: int, is_live: bool, warnings: int
) -> None:
    with structlog.testing.capture_logs() as logs:
        observe.nodes_configured(NETWORK, providers, is_live=is_live)

    assert [line["log_level"] for line in logs] == ["warning"] * warnings
    assert observe.PROVIDERS.labels(NETWORK)._value.get() == providers
