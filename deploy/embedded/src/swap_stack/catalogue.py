"""The catalogue of a stack: which networks, contracts and tokens there are, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import yaml

from swap_stack.contracts import TOKENS, Deployment, DevelopmentToken
from swap_stack.files import read_json, write_private
from swap_stack.keys import DevelopmentKeys
from swap_stack.logos import network_logo, token_logo
from swap_stack.parts.anvil import DevelopmentChain

LISTED = "2026-01-01T00:00:00Z"
GWEI = 10**9
# Dollars for one whole coin or token. The prices of the development chains do not move.
PRICES = {"ETH": "3000.00", "POL": "0.45", "USDC": "1", "DAI": "1"}
# A deposit of this token from so many dollars on waits for more blocks: a user sees it confirmed.
SLOW, SLOW_USD, SLOW_BLOCKS = "DAI", 10_000, 6
# Up to so many dollars of not-yet-final inflow one block is enough; above, the chain's finality.
ONE_BLOCK_USD = 500_000


@dataclass(frozen=True, slots=True)
class RunningChain:
    """A development chain with its contracts, reachable at a URL."""

    chain: DevelopmentChain
    rpc_url: str
    deployment: Deployment


def measured_gas(root: Path) -> dict[str, int]:
    """Return what one payment through the Treasury, one deposit by a signature and one sweep take,
    as Foundry measured it.
    """
    measured = read_json(root / "evm" / "gas.json")
    return {
        "pay_native": measured["payNative"],
        "pay_erc20": measured["payErc20"],
        "relay_eip3009": measured["depositWithAuthorization"],
        "relay_eip2612": measured["depositWithPermit"],
        "sweep_native": sum(measured["sweepNative"].values()),
        "sweep_erc20": sum(measured["sweepErc20"].values()),
    }


STABLE = ("USDC", "DAI")
ONE_TO_ONE_PAIRS = (("ETH", "ETH"), ("POL", "POL"), *product(STABLE, STABLE))


def make_catalogue(
    chains: tuple[RunningChain, ...], keys: DevelopmentKeys, gas: Mapping[str, int]
) -> dict[str, Any]:
    """Return the catalogue of the development chains, as `docs/catalogue.md` explains it."""
    return {
        "environment": "test",
        "networks": [
            {**_network(rank, running, keys), "gas": dict(gas)}
            for rank, running in enumerate(chains, 1)
        ],
        # The prices of equal assets differ little, so less slippage is accepted between them.
        "routes": [
            *(
                _route(f"*/{one}", f"*/{other}", slippage_ppm=1000)
                for one, other in ONE_TO_ONE_PAIRS
            ),
            _route("*", "*", slippage_ppm=5000),
        ],
    }


def _route(source: str, destination: str, *, slippage_ppm: int) -> dict[str, Any]:
    return {
        "source": source,
        "destination": destination,
        "service_fee_basis_points": 10,
        "slippage_ppm": slippage_ppm,
        "min_usd": "1",
        "max_usd": "50000",
        "estimated_seconds": 10,
    }


def _network(rank: int, running: RunningChain, keys: DevelopmentKeys) -> dict[str, Any]:
    chain, deployment = running.chain, running.deployment
    return {
        "name": chain.network,
        "display_name": chain.display_name,
        "chain_id": chain.chain_id,
        "logo": network_logo(chain.network),
        "transaction_explorer_template": f"{_explorer(chain.network)}/tx/{{0}}",
        "account_explorer_template": f"{_explorer(chain.network)}/address/{{0}}",
        "source_rank": rank,
        "destination_rank": rank,
        "listing_date": LISTED,
        "public_nodes": [running.rpc_url],
        "start_block": 0,
        "block_time_milliseconds": 1000,
        "payout_confirmations": 1,
        "finality_blocks": 2,
        "contracts": {
            "treasury": deployment.treasury,
            "depository": deployment.depository,
            "paymaster": deployment.paymaster,
            "deposit_addresses": {
                "factory": deployment.deposit_address_factory,
                "init_code_hash": deployment.deposit_init_code_hash,
            },
            "owners": dict.fromkeys(("treasury", "depository", "paymaster"), keys.owner.address),
        },
        "signers": [keys.signer.address],
        "funders": [keys.funder.address],
        "max_fee_per_gas": 500 * GWEI,
        "tokens": [
            _token(1, chain.native, None, 18),
            *(
                {
                    **_token(rank, token.symbol, deployment.tokens[token.symbol], token.decimals),
                    "gasless": _gasless(token),
                }
                for rank, token in enumerate(TOKENS, 2)
            ),
        ],
    }


def _explorer(network: str) -> str:
    """Return a placeholder: development chains have no explorer, and clients build links."""
    return f"https://{network.lower().replace('_', '-')}.explorer.example"


def _token(rank: int, symbol: str, contract: str | None, decimals: int) -> dict[str, Any]:
    return {
        "symbol": symbol,
        "contract": contract,
        "decimals": decimals,
        "logo": token_logo(symbol),
        "source_rank": rank,
        "destination_rank": rank,
        "listing_date": LISTED,
        "tiers": [
            *_tiers(symbol, decimals),
            {"below_base_units": None, "confirmations": None},
        ],
    }


def _tiers(symbol: str, decimals: int) -> tuple[dict[str, Any], ...]:
    tiers = (
        ((SLOW_USD, 1), (ONE_BLOCK_USD, SLOW_BLOCKS)) if symbol == SLOW else ((ONE_BLOCK_USD, 1),)
    )
    return tuple(
        {"below_base_units": str(_worth(symbol, decimals, usd)), "confirmations": blocks}
        for usd, blocks in tiers
    )


def _gasless(token: DevelopmentToken) -> dict[str, str]:
    return {"standard": token.standard, "name": token.name, "version": token.version}


def _worth(symbol: str, decimals: int, usd: int) -> int:
    """Return how many base units are worth so many dollars."""
    dollars, _, cents = PRICES[symbol].partition(".")
    return usd * 100 * int(10**decimals) // int(dollars + cents.ljust(2, "0"))


def write_catalogue(path: Path, catalogue: Mapping[str, Any]) -> None:
    text = yaml.safe_dump(dict(catalogue), sort_keys=False, allow_unicode=True)
    explained = "# Made by the local stack; docs/catalogue.md explains each member.\n" + text
    write_private(path, explained.encode())


def write_first_prices(path: Path) -> None:
    """Write the prices, where there are none: one that was changed by hand stays."""
    if not path.exists():
        write_private(path, orjson.dumps(PRICES))
