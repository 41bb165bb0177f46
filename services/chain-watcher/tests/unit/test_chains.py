"""How the chain-watcher uses its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import aiohttp
import orjson
import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestServer
from watch_factories import NETWORK, SMALL_TIER_BELOW, USDC, a_block, a_network, a_token

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.chains import EvmChain
from swap_chain_watcher.app import policy_of
from swap_chain_watcher.settings import ChainWatcherSettings
from swap_chains.errors import ChainUnavailable
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import NATIVE, Network


def a_chain(
    urls: Sequence[str], session: aiohttp.ClientSession, network: Network | None = None
) -> EvmChain:
    return EvmChain(
        network or a_network(),
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
async def test_urls_of_one_host_are_one_provider(urls: list[str], count: int) -> None:
    async with open_session() as session:
        assert len(a_chain(urls, session).providers) == count


async def test_node_with_a_different_final_block_is_counted() -> None:
    async def answer(request: web.Request) -> web.Response:
        request_body = orjson.loads(await request.read())
        if request_body["method"] == "eth_chainId":
            return web.json_response(
                {"jsonrpc": "2.0", "id": request_body["id"], "result": hex(31337)}
            )
        header = {
            "number": request_body["params"][0],
            "hash": f"0x{9:064x}",
            "parentHash": f"0x{8:064x}",
            "timestamp": "0x1",
        }
        return web.json_response({"jsonrpc": "2.0", "id": request_body["id"], "result": header})

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
    ("providers", "is_live", "levels"),
    [(1, True, ["warning"]), (2, True, []), (1, False, [])],
)
async def test_warns_of_a_live_network_with_one_provider(
    settings: ChainWatcherSettings, providers: int, is_live: bool, levels: list[str]
) -> None:
    async with open_session() as session:
        chain = a_chain(["http://a", "http://b"][:providers], session)
        with structlog.testing.capture_logs() as logs:
            policy = policy_of(chain, settings.chain_watcher, is_live=is_live)
            observe.trust_configured(policy, len(chain.providers))

    assert [line["log_level"] for line in logs] == levels
    assert observe.PROVIDERS.labels(NETWORK)._value.get() == providers


async def test_tokens_without_a_tier_or_a_cap_are_logged(
    settings: ChainWatcherSettings,
) -> None:
    network = a_network(tokens=(a_token(tiers=()), a_token(symbol="ETH", address=NATIVE)))
    async with open_session() as session:
        chain = a_chain(["http://a"], session, network)
        with structlog.testing.capture_logs() as logs:
            policy = policy_of(chain, settings.chain_watcher, is_live=True)
            observe.trust_configured(policy, len(chain.providers))

    assert logs[0]["caps_base_units"] == {"USDC": "0", "ETH": str(SMALL_TIER_BELOW)}
    assert (logs[1]["log_level"], logs[1]["tokens"]) == ("error", ["USDC"])


async def test_a_configured_cap_replaces_the_one_of_the_tier(
    settings: ChainWatcherSettings,
) -> None:
    group = settings.chain_watcher.model_copy(
        update={"one_provider_caps": {NETWORK: {"USDC": 5}, "OTHER": {"ETH": 6}}}
    )
    async with open_session() as session:
        policy = policy_of(a_chain(["http://a"], session), group, is_live=True)

    assert policy.caps is not None
    assert policy.caps.base_units == {USDC.lower(): 5, NATIVE: SMALL_TIER_BELOW}
