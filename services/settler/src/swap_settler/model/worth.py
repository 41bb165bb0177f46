"""What an amount is worth. Pure."""

from __future__ import annotations

from swap_domain.money import Asset, Rounding, convert


def worth(asset: Asset, base_units: int, usd_e18: int) -> int:
    """Return what an amount is worth in millionths of a dollar, rounded up."""
    return convert(
        base_units,
        numerator=usd_e18,
        denominator=10 ** (asset.decimals + 12),
        rounding=Rounding.UP,
    )
