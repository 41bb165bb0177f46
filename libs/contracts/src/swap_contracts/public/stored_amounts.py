"""Amounts of stored entries: an entry outlives its token's place in the catalogue."""

from __future__ import annotations

from typing import Any

from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.doubles import amount_down


def symbol_or_address(network: str, token: str, public: PublicCatalogue) -> str:
    """Return the token's symbol; its address when it has left the catalogue."""
    facts = public.find_token(network, token)
    return token if facts is None else str(facts.members["symbol"])


def amount_members(
    base_units: int, network: str, token: str, public: PublicCatalogue
) -> dict[str, Any]:
    """Return the amount in whole tokens, cut off at the token's precision, and in base units.

    Amounts that are cut off may not add up to their sum, which is cut off once: base units and
    decimals do. Without the token's decimals there is no amount in whole tokens.
    """
    facts = public.find_token(network, token)
    amount = decimals = None
    if facts is not None:
        decimals = facts.decimals
        sign = -1 if base_units < 0 else 1
        amount = sign * amount_down(
            abs(base_units), decimals=facts.decimals, precision=facts.precision
        )
    return {"amount": amount, "amount_in_base_units": str(base_units), "decimals": decimals}
