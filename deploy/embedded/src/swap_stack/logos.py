"""Logos of the development catalogue: small SVG images inside their own URLs.

Each is one shape in one colour. A swap shows every logo several times, so they are short.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

# Colour and outline, in a square of eight by eight.
NETWORKS: Final = {
    "ETHEREUM_DEVNET": ("345", "M0,0h8v8h-8zM3,2v4h2v-4z"),  # a square with an upright slot
    "BASE_DEVNET": ("06c", "M0,0h8v8h-8zM2,3v2h4v-2z"),  # a square with a level slot
    "POLYGON_DEVNET": ("63a", "M0,0h8v8h-8zM4,2l-2,2l2,2l2,-2z"),  # a square around a diamond
}
TOKENS: Final = {
    "ETH": ("557", "M4,0l4,4l-4,4l-4,-4z"),  # a diamond
    "POL": ("84c", "M2,0h4l2,4l-2,4h-4l-2,-4z"),  # a hexagon
    "USDC": ("27b", "M0,4a4,4,0,1,0,8,0a4,4,0,1,0,-8,0"),  # a disc
    "DAI": ("b80", "M4,0l4,8h-8z"),  # a triangle
}
IMAGE: Final = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0,0,8,8'>"
    "<path fill='#{colour}' d='{outline}'/></svg>"
)
UNQUOTED: Final = "/:=',-"  # characters of an image that a URL may contain


def network_logo(network: str) -> str:
    return _logo(*NETWORKS[network])


def token_logo(symbol: str) -> str:
    return _logo(*TOKENS[symbol])


def _logo(colour: str, outline: str) -> str:
    image = IMAGE.format(colour=colour, outline=outline)
    return f"data:image/svg+xml,{quote(image, safe=UNQUOTED)}"
