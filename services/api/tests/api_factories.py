"""Swaps, messages and requests for tests of the api."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from swap_api.model.keys import Allowances, Caller, Environment, KeyKind
from swap_contracts.quoting import AssetRef, Quote
from swap_contracts.swaps import SwapChanged, SwapTransaction
from swap_contracts.topics import SWAP_CHANGED
from swap_domain.catalogue import NATIVE, Catalogue
from swap_domain.catalogue_document import catalogue_from
from tests.support import networks, swaps

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
USDC = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
DAI = "0x8A791620dd6260079BF849Dc5567aDC3F2FdC318"
USDT = "0x610178dA211FEF7D417bC0e6FeD39F05609AD788"
PAYMASTER = "0xB7f8BC63BbcaD18155201308C8f3540b07f84F5e"
TREASURY = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
DEPOSITORY = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
FACTORY = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"
INIT_CODE_HASH = "0x" + "c0" * 32
SIGNER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
FUNDER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
HASH = "0x" + "ab" * 32
ETHER = AssetRef(network="ETHEREUM_DEVNET", token=NATIVE, decimals=18)
DOLLAR = AssetRef(network="BASE_DEVNET", token=USDC, decimals=6)
E18 = 10**18


def a_network(name: str, chain_id: int, **changes: Any) -> dict[str, Any]:
    values = {
        "display_name": name.replace("_", " ").title(),
        "public_nodes": [f"http://127.0.0.1:{8545 + chain_id % 100}"],
        "contracts": {
            "treasury": TREASURY,
            "depository": DEPOSITORY,
            "paymaster": PAYMASTER,
            "deposit_addresses": {"factory": FACTORY, "init_code_hash": INIT_CODE_HASH},
        },
        "signers": [SIGNER],
        "funders": [FUNDER],
        "gas": {
            "pay_native": 75000,
            "pay_erc20": 95000,
            "relay_eip3009": 143000,
            "relay_eip2612": 166000,
            "sweep_native": 90000,
            "sweep_erc20": 95000,
        },
    }
    signed = {"standard": "eip3009", "name": "USD Coin", "version": "2"}
    usdc = {"symbol": "USDC", "contract": USDC, "decimals": 6, "gasless": signed}
    return networks.a_network(name, chain_id, networks.ETH, usdc, **{**values, **changes})


def a_catalogue_document(**changes: Any) -> dict[str, Any]:
    bare = {"treasury": TREASURY, "depository": None}
    return {
        "environment": "test",
        "networks": [
            a_network("ETHEREUM_DEVNET", 31337),
            a_network("BASE_DEVNET", 31338),
            a_network("BARE_DEVNET", 31339, contracts=bare),
        ],
        "routes": [networks.a_route()],
        **changes,
    }


def a_catalogue(**changes: Any) -> Catalogue:
    return catalogue_from(a_catalogue_document(**changes), to_address=str)


def a_caller(**changes: Any) -> Caller:
    values: dict[str, Any] = {
        "key_id": uuid4(),
        "app_id": uuid4(),
        "environment": Environment.TEST,
        "kind": KeyKind.SECRET,
        "allowances": Allowances(),
        "expires_at": None,
    }
    return Caller(**{**values, **changes})


def a_quote(**changes: Any) -> Quote:
    return swaps.a_quote(ETHER, DOLLAR, **changes)


def an_input(**changes: Any) -> SwapTransaction:
    parties = {"from_address": ALICE, "to_address": TREASURY}
    return swaps.a_transaction(ETHER, AT, **{**parties, **changes})


def a_swap(**changes: Any) -> SwapChanged:
    values: dict[str, Any] = {
        "expires_at": AT + timedelta(hours=6),
        "quote_expires_at": AT + timedelta(minutes=5),
    }
    return swaps.a_swap(ETHER, DOLLAR, AT, **{**values, **changes})


def a_message(swap: SwapChanged) -> Any:
    return SWAP_CHANGED.seal(swap, version=swap.sequence, occurred_at=AT, trace_id="trace")


def a_body(**changes: Any) -> dict[str, Any]:
    return {
        "source_network": "ETHEREUM_DEVNET",
        "source_token": "ETH",
        "destination_network": "BASE_DEVNET",
        "destination_token": "USDC",
        "destination_address": ALICE,
        "amount": 1,
        "use_depository": True,
        **changes,
    }
