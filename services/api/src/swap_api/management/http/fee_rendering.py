"""An app's fees, as the public models have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from swap_api.management.decide.app_fees import FeeBalance, FeeEntry
from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.stored_amounts import amount_members, symbol_or_address

# The settler's last states of a payment, and their public names.
ENDED: Final = {"confirmed": "completed", "dead": "failed"}


def render_balance(balance: FeeBalance, public: PublicCatalogue) -> Mapping[str, Any]:
    asset = balance.network, balance.token
    return {
        "network": balance.network,
        "token": symbol_or_address(*asset, public),
        "earned": amount_members(balance.earned, *asset, public),
        "waiting": amount_members(balance.waiting, *asset, public),
        "pending": amount_members(balance.pending, *asset, public),
        "paid_out": amount_members(balance.completed, *asset, public),
    }


def render_entry(entry: FeeEntry, public: PublicCatalogue) -> Mapping[str, Any]:
    return {
        "id": entry.id,
        "kind": entry.kind,
        "at": entry.at,
        "network": entry.network,
        "token": symbol_or_address(entry.network, entry.token, public),
        **amount_members(entry.base_units, entry.network, entry.token, public),
        "swap_id": entry.swap_id,
        "to_address": entry.to_address,
        "transaction_hash": entry.transaction_hash,
        "transaction_url": _url(entry, public),
        # None: an earned fee has no payment.
        "status": entry.state and ENDED.get(entry.state, "pending"),
    }


def _url(entry: FeeEntry, public: PublicCatalogue) -> str | None:
    network = public.networks.get(entry.network)
    if entry.transaction_hash is None or network is None:
        return None
    template = str(network.members["transaction_explorer_template"])
    return template.replace("{0}", entry.transaction_hash) or None
