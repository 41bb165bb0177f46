"""What an unknown network probably was meant to be."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from swap_domain.catalogue import Catalogue

NOT_SERVED: Final = "is not served; GET /api/v2/networks lists what is"


def unserved_text(catalogue: Catalogue, name: str) -> str:
    """Return why a network is refused, with the nearest names of the catalogue, the best first."""
    near = get_close_matches(name.upper(), catalogue.networks)
    if not near:
        return NOT_SERVED
    nearest = "the nearest is" if len(near) == 1 else "the nearest are"
    return f"is not served; {nearest} {', '.join(near)}"
