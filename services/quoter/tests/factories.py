"""Catalogues, markets and requests for the quoter's tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from swap_contracts.quoting import QuoteQuestion
from swap_domain.catalogue import NATIVE, Catalogue
from swap_domain.catalogue_document import catalogue_from
from swap_quoter.domain.market import Market, TimedValue, to_usd_e18
from swap_quoter.domain.routes import Route, Routes
from tests.support import networks

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
GWEI = 10**9
ETHEREUM, POLYGON = "ETHEREUM_DEVNET", "POLYGON_DEVNET"
USDC = {ETHEREUM: "0x" + "41" * 20, POLYGON: "0x" + "51" * 20}
DAI = {ETHEREUM: "0x" + "42" * 20, POLYGON: "0x" + "52" * 20}
PRICES = {"ETH": "3000.00", "POL": "0.25", "USDC": "1", "DAI": "0.999"}
PLENTY = 10**36


def a_rule(**members: object) -> dict[str, object]:
    return networks.a_route(**{"quote_lifetime_seconds": 300, **members})


def a_catalogue_document(
    *rules: Mapping[str, object], depository: str | None = "0x" + "d" * 40
) -> dict[str, Any]:
    return {
        "environment": "test",
        "networks": [
            a_network(ETHEREUM, 31337, "ETH", depository),
            a_network(POLYGON, 31338, "POL", depository),
        ],
        "routes": list(rules) or [a_rule()],
    }


def a_catalogue(
    *rules: Mapping[str, object], depository: str | None = "0x" + "d" * 40
) -> Catalogue:
    return catalogue_from(a_catalogue_document(*rules, depository=depository), to_address=str)


def a_network(name: str, chain_id: int, native: str, depository: str | None) -> dict[str, Any]:
    signed = {"standard": "eip3009", "name": "USD Coin", "version": "2"}
    factory = {"factory": "0x" + "8" * 40, "init_code_hash": "0x" + "88" * 32}
    return networks.a_network(
        name,
        chain_id,
        {**networks.ETH, "symbol": native},
        {"symbol": "USDC", "contract": USDC[name], "decimals": 6, "gasless": signed},
        {"symbol": "DAI", "contract": DAI[name], "decimals": 18},
        contracts={
            "treasury": "0x" + "e" * 40,
            "depository": depository,
            "paymaster": "0x" + "9" * 40 if name == ETHEREUM else None,
            "deposit_addresses": factory if name == ETHEREUM else None,
        },
        gas={
            "pay_native": 75_000,
            "pay_erc20": 95_000,
            "relay_eip3009": 140_000,
            "sweep_native": 90_000,
            "sweep_erc20": 100_000,
        },
    )


def a_market(
    *,
    prices: Mapping[str, str] = PRICES,
    gas: Mapping[str, int] | None = None,
    inventory: Mapping[tuple[str, str], int] | None = None,
    at: datetime = NOW,
) -> Market:
    market = Market(prices_max_age=timedelta(seconds=60), gas_max_age=timedelta(seconds=30))
    market.prices = {symbol: TimedValue(to_usd_e18(usd), at) for symbol, usd in prices.items()}
    costs = gas if gas is not None else {ETHEREUM: 20 * GWEI, POLYGON: 50 * GWEI}
    market.gas = {network: TimedValue(cost, at) for network, cost in costs.items()}
    everything = {
        (network, token): PLENTY
        for network in (ETHEREUM, POLYGON)
        for token in (NATIVE, USDC[network], DAI[network])
    }
    market.inventory = everything if inventory is None else inventory
    return market


def a_route(
    source: tuple[str, str] = (ETHEREUM, USDC[ETHEREUM]),
    destination: tuple[str, str] = (POLYGON, USDC[POLYGON]),
    *rules: Mapping[str, object],
) -> Route:
    return Routes(a_catalogue(*rules)).get(*source, *destination)


def a_question(**members: Any) -> QuoteQuestion:
    return QuoteQuestion(
        **{
            "source_network": ETHEREUM,
            "source_token": USDC[ETHEREUM],
            "destination_network": POLYGON,
            "destination_token": USDC[POLYGON],
            "base_units": "100000000",
            **members,
        }
    )
