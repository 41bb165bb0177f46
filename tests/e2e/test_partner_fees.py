"""An app with a fee: quoted, booked for each swap, listed, and paid out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
import pytest
from typer.testing import CliRunner

from swapctl.app import app
from tests.e2e.outside import Outside, Partner, Route, new_address
from tests.plugins.stack import Stack
from tests.support.waiting import until

BASE: Final = "/management/v1"
ROUTE: Final = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.1")
BASIS_POINTS: Final = 25
FEE: Final = 10**17 * BASIS_POINTS // 10_000
PARAMETERS: Final = {
    "source_network": ROUTE.source_network,
    "source_token": ROUTE.source_token,
    "destination_network": ROUTE.destination_network,
    "destination_token": ROUTE.destination_token,
    "amount": ROUTE.amount,
}


class Shop:
    """An app that earns a fee of its swaps."""

    def __init__(self, app_id: str, partner: Partner) -> None:
        self.app_id = app_id
        self.partner = partner


@pytest.fixture
async def shop(stack: Stack) -> AsyncIterator[Shop]:
    async def ordered(path: str, body: dict[str, Any]) -> Any:
        return (await stack.order("api", BASE + path, body))["data"]

    organization = await ordered("/organizations", {"name": "a shop with a fee"})
    made = await ordered(
        f"/organizations/{organization['id']}/apps", {"name": "web", "environment": "test"}
    )
    await ordered(f"/apps/{made['id']}/fee", {"fee_basis_points": BASIS_POINTS})
    key = (await ordered(f"/apps/{made['id']}/keys", {}))["key"]
    gateway = stack.description["gateway"]["url"]
    async with httpx.AsyncClient(base_url=gateway, timeout=10) as http:
        yield Shop(made["id"], Partner(http, key, patience=0))


async def swapctl(stack: Stack, *words: str) -> Any:
    arguments = ["--stack", str(stack.places.stack_file), *words, "--json"]
    done = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


async def owed(stack: Stack, shop: Shop) -> dict[str, Any] | None:
    fees = await swapctl(stack, "fees", "list")
    return next((fee for fee in fees if fee["app_id"] == shop.app_id), None)


async def test_a_partners_fee_is_quoted_booked_shown_and_paid_out(
    stack: Stack, outside: Outside, shop: Shop
) -> None:
    without = (await outside.partner().get("/quote", **PARAMETERS))["quote"]
    quoted = (await shop.partner.get("/quote", **PARAMETERS))["quote"]
    prepared = await shop.partner.create(ROUTE, new_address())
    await outside.user(ROUTE.source_network).fund(*prepared["deposit_actions"])
    swap_id = prepared["swap"]["id"]

    fee = await until(lambda: owed(stack, shop), what=f"a fee of {swap_id}", within=60)
    booked = await shop.partner.get(f"/swaps/{swap_id}/ledger")

    assert quoted["service_fee"] - without["service_fee"] == pytest.approx(FEE / 10**18)
    assert (fee["network"], fee["base_units"]) == (ROUTE.source_network, str(FEE))
    [earned] = [entry for entry in booked if entry["reason"] == "partner_fee_earned"]
    assert {line["account"]: line["amount_in_base_units"] for line in earned["postings"]} == {
        "fee_income": str(FEE),
        "partner_fee": str(-FEE),
    }

    to = new_address()
    order = ("--to", to, "--base-units", fee["base_units"], "--reason", "a test", "--by", "ann")
    await swapctl(stack, "fees", "pay", str(fee["id"]), *order)

    async def is_paid() -> bool:
        return await outside.balance(ROUTE.source_network, "ETH", to) == FEE

    await until(is_paid, what=f"the fee of {swap_id} is paid", within=60)
    assert await owed(stack, shop) is None
