"""What an operator's payment is worth, for the caps that count dollars."""

from __future__ import annotations

from collections.abc import Mapping

from swap_domain.catalogue import Catalogue, UnknownToken
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.worth import worth


def dollar_value(
    catalogue: Catalogue, prices: Mapping[AssetKey, int], asset: AssetKey, base_units: int
) -> int | None:
    """Return millionths of a dollar, or None for an asset without a price."""
    network, token = asset
    price = prices.get(asset)
    try:
        known = catalogue.network(network).token(token)
    except UnknownToken:
        return None
    return None if price is None else worth(known.asset, base_units, price)
