"""An app's fees, as the public models have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from swap_api.management.decide.app_fees import FeeBalance, FeeEntry
from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.doubles import amount_down

ENDED: Final = {"confirmed": "completed", "dead": "failed"}  # states of the settler's payment


def render_balance(balance: FeeBalance, public: PublicCatalogue) -> Mapping[str, Any]:
    asset = balance.network, balance.token
    facts = public.token(*asset)
    return {
        "network": balance.network,
        "token": facts.members["symbol"],
        "earned": _amount(balance.earned, *asset, public),
        "waiting": _amount(balance.waiting, *asset, public),
        "pending": _amount(balance.pending, *asset, public),
        "paid_out": _amount(balance.completed, *asset, public),
    }


def render_entry(entry: FeeEntry, public: PublicCatalogue) -> Mapping[str, Any]:
    return {
        "id": entry.id,
        "kind": entry.kind,
        "at": entry.at,
        "network": entry.network,
        "token": public.token(entry.network, entry.token).members["symbol"],
        **_amount(entry.base_units, entry.network, entry.token, public),
        "swap_id": entry.swap_id,
        "to_address": entry.to_address,
        "transaction_hash": entry.transaction_hash,
        "transaction_url": _url(entry, public),
        "status": entry.state and ENDED.get(entry.state, "pending"),
    }


def _amount(
    base_units: int, network: str, token: str, public: PublicCatalogue
) -> Mapping[str, Any]:
    facts = public.token(network, token)
    amount = amount_down(base_units, decimals=facts.decimals, precision=facts.precision)
    return {"amount": amount, "amount_in_base_units": str(base_units)}


def _url(entry: FeeEntry, public: PublicCatalogue) -> str | None:
    if entry.transaction_hash is None:
        return None
    template = str(public.networks[entry.network].members["transaction_explorer_template"])
    return template.replace("{0}", entry.transaction_hash) or None
