"""The whole process: prices from a file and a feed, gas from a node, inventory from Kafka."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import aiohttp
import pytest
from aiohttp import web

from services.quoter.tests.factories import (
    ETHEREUM,
    NOW,
    POLYGON,
    USDC,
    a_catalogue_document,
    a_question,
)
from swap_contracts.quoting import QuoteAnswer, Refusal
from swap_contracts.swaps import InventoryChanged
from swap_contracts.topics import INVENTORY_CHANGED
from swap_runtime.messaging.outbox import Outgoing
from swap_runtime.messaging.topics import ensure_topics
from tests.plugins.broker import Broker
from tests.plugins.outbox_messages import send_from_outbox
from tests.plugins.processes import Program, free_port
from tests.support.waiting import until

pytestmark = [pytest.mark.connected, pytest.mark.timeout(120)]
GWEI = 10**9


@pytest.fixture
async def node() -> AsyncIterator[str]:
    """A node of any chain that reports only a gas price and one feed."""

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        results = {**_RESULTS, "eth_chainId": hex(int(request.match_info["chain_id"]))}
        answers = [
            {"jsonrpc": "2.0", "id": one["id"], "result": results[one["method"]]}
            for one in (body if isinstance(body, list) else [body])
        ]
        return web.json_response(answers if isinstance(body, list) else answers[0])

    app = web.Application()
    app.router.add_post("/{chain_id}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


_RESULTS: dict[str, Any] = {
    "eth_getBlockByNumber": {"number": "0x1", "baseFeePerGas": hex(10 * GWEI)},
    "eth_maxPriorityFeePerGas": hex(GWEI),
    # Round 8 of a feed: a quarter of a dollar. Its answer for the decimals begins with 8 too.
    "eth_call": "0x" + "".join(f"{word:064x}" for word in (8, 25_000_000, 1, 1, 8)),
}
FEED = {"symbol": "POL", "network": POLYGON, "aggregator": USDC[POLYGON], "max_age": "P36525D"}


async def publish_inventory(settler: str, broker: Broker, available: int, *, version: int) -> None:
    body = InventoryChanged(
        network=POLYGON,
        token=USDC[POLYGON],
        version=version,
        available_base_units=str(available),
    )
    sealed = INVENTORY_CHANGED.seal(body, version=version, occurred_at=NOW, trace_id="t")
    await send_from_outbox(settler, broker, Outgoing.of(INVENTORY_CHANGED, sealed))


async def quote(url: str, **members: Any) -> tuple[int, bytes]:
    question = {**a_question().model_dump(), **members}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/quote", json=question) as answer,
    ):
        return answer.status, await answer.read()


async def quoted(status: int, url: str) -> bytes:
    """Return the first answer with this status."""

    async def body() -> bytes | None:
        answered, content = await quote(url)
        return content if answered == status else None

    return await until(body, every=0.02)


class TestProcess:
    async def test_answers_from_what_it_learned(
        self, migrate_schema: Callable[[str], str], broker: Broker, node: str, tmp_path: Path
    ) -> None:
        await ensure_topics(broker.settings)
        settler = migrate_schema("settler")
        prices, catalogue = tmp_path / "prices.json", tmp_path / "catalogue.yaml"
        prices.write_text('{"ETH": "3000", "USDC": "1"}')
        catalogue.write_text(json.dumps(a_catalogue_document()))  # JSON is valid YAML
        internal, port = free_port(), free_port()
        url = f"http://127.0.0.1:{port}"
        process = Program(
            [sys.executable, "-m", "swap_quoter"],
            log=tmp_path / "log",
            ready=lambda: _is_ready(f"http://127.0.0.1:{internal}/readyz"),
            environment={
                **os.environ,
                "SWAP_KAFKA__BOOTSTRAP_SERVERS": broker.settings.bootstrap_servers,
                "SWAP_KAFKA__SESSION_TIMEOUT_MS": str(broker.settings.session_timeout_ms),
                "SWAP_KAFKA__HEARTBEAT_INTERVAL_MS": str(broker.settings.heartbeat_interval_ms),
                "SWAP_KAFKA__FETCH_MAX_WAIT_MS": str(broker.settings.fetch_max_wait_ms),
                "SWAP_REDIS__URL": "redis://127.0.0.1:1",
                "SWAP_OPERATOR__TOKEN": "operator",
                "SWAP_CATALOGUE": str(catalogue),
                "SWAP_NODES": json.dumps({ETHEREUM: [f"{node}31337"], POLYGON: [f"{node}31338"]}),
                "SWAP_QUOTER__DATABASE_URL": migrate_schema("quoter"),
                "SWAP_QUOTER__INTERNAL_PORT": str(internal),
                "SWAP_QUOTER__PORT": str(port),
                "SWAP_QUOTER__PRICES_FILE": str(prices),
                "SWAP_QUOTER__PRICES_NEVER_EXPIRE": "true",
                "SWAP_QUOTER__FEEDS": json.dumps([FEED]),
            },
        )

        await asyncio.to_thread(process.start)
        try:
            refused, body = await quote(url)
            await publish_inventory(settler, broker, 10**9, version=1)
            answer = QuoteAnswer.model_validate_json(await quoted(HTTPStatus.OK, url))
            prices.write_text('{"ETH": "3000"}')
            unpriced = Refusal.model_validate_json(await quoted(HTTPStatus.NOT_FOUND, url))
        finally:
            await asyncio.to_thread(process.stop)

        assert refused == HTTPStatus.BAD_REQUEST
        assert Refusal.model_validate_json(body).code == "INSUFFICIENT_LIQUIDITY"
        # 95,000 units at 21 gwei are 0.001995 POL: at 0.25 $ 498.75 millionths of a dollar.
        assert answer.quote.blockchain_fee_base_units == "499"
        assert unpriced.message == "Rate not available"


def _is_ready(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except (URLError, ConnectionError, TimeoutError):
        return False
