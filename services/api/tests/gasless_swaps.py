"""Swaps that are funded by a signature, for tests of the api."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from api_factories import DAI, USDT, a_body, a_catalogue_document
from api_harness import App, Harness
from eth_account import Account

KEY = "0x" + "a1" * 32
WALLET = str(Account.from_key(KEY).address)


def a_gasless_catalogue(folder: Path) -> Path:
    """Write a catalogue that names a token with permits, too."""
    document = a_catalogue_document()
    for network in document["networks"]:
        permit = {"standard": "eip2612", "name": "Dai", "version": "1"}
        dai = {**network["tokens"][1], "symbol": "DAI", "contract": DAI, "gasless": permit}
        # It supports neither an authorization nor a permit: only Permit2 could move it.
        plain = {**dai, "symbol": "USDT", "contract": USDT, "gasless": None, "decimals": 6}
        network["tokens"] += [{**dai, "decimals": 18}, plain]
    path = folder / "catalogue.yaml"
    path.write_text(json.dumps(document))
    return path


async def an_app_with_offers(api: Harness) -> App:
    await api.parts.funding.offers.gasless.refresh()
    return await api.an_app()


def a_gasless_body(**changes: Any) -> dict[str, Any]:
    members = {"source_token": "USDC", "use_gasless": True, "amount": 25.5, "use_depository": False}
    return a_body(**{**members, **changes})


async def create_gasless_swap(api: Harness, app: App, **changes: Any) -> dict[str, Any]:
    answer = await api.create(app, a_gasless_body(**changes))
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def steps(api: Harness, app: App, swap_id: str, **query: str) -> Any:
    answer = await api.get(app, f"/swaps/{swap_id}/deposit_actions", params=query)
    return answer.json()["data"] if answer.status_code == 200 else answer.json()["error"]


async def to_sign(api: Harness, app: App, swap_id: str, wallet: str = WALLET) -> Any:
    [sign, publish] = await steps(api, app, swap_id, source_address=wallet)
    assert (publish["step"], publish["type"]) == ("publish", "publish")
    return sign
