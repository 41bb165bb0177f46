"""A shop on the TypeScript client against the running stack: from its order to its webhook."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from swap_sdk.sandbox import Recipient
from swap_stack.places import ROOT
from tests.plugins.processes import free_port
from tests.plugins.stack import Stack
from tests.support.waiting import output_of

SHOP = ROOT / "sdk/typescript/build/examples/shop.js"
ORDER = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "ETH",
    "destination_address": Recipient.COMPLETED,
    "amount": "0.1",
    "use_depository": True,
}
PATIENCE = 120.0


@asynccontextmanager
async def endpoint(stack: Stack, app_id: str, port: int) -> AsyncIterator[str]:
    """Send the app's webhooks to a port while the block runs, and yield their secret."""
    manage = "/management/v1"
    url = {"url": f"http://127.0.0.1:{port}/"}
    made = (await stack.order("api", f"{manage}/apps/{app_id}/webhooks", url))["data"]
    try:
        yield str(made["secret"])
    finally:
        await stack.order("api", f"{manage}/webhooks/{made['id']}/remove", {})


@pytest.mark.skipif(not SHOP.exists(), reason="`make sdk` builds it")
async def test_typescript_shop_completes_a_swap_and_verifies_its_webhook(stack: Stack) -> None:
    [partner] = [row for row in stack.description["partners"] if row["name"] == "sandbox"]
    port = free_port()
    async with endpoint(stack, partner["app_id"], port) as secret:
        environment = {
            "BASE_URL": stack.description["gateway"]["url"],
            "API_KEY": partner["api_key"],
            "WEBHOOK_SECRET": secret,
            "PORT": str(port),
        }
        shop = await asyncio.create_subprocess_exec(
            *("node", SHOP, json.dumps(ORDER)),
            env={**os.environ, **environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, wrong = await output_of(shop, within=PATIENCE)

    assert shop.returncode == 0, wrong.decode()
    seen = json.loads(output)
    assert (seen["status"], seen["refused"]) == ("completed", 0)
    assert "completed" in {event["status"] for event in seen["events"]}
    assert all(event["type"] == f"swap.{event['status']}" for event in seen["events"])
