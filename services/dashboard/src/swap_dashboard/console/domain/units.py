"""Amounts of base units, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MICROS: Final = 6


@dataclass(frozen=True, slots=True)
class ShownAmount:
    """An exact amount; `symbol` is empty for a token that the catalogue does not name."""

    text: str
    symbol: str
    base_units: str

    def __str__(self) -> str:
        return f"{self.text} {self.symbol}" if self.symbol else f"{self.text} base units"


class Units:
    """What the amounts of each token are counted in."""

    def __init__(
        self, assets: Iterable[Mapping[str, Any]], *, networks: Sequence[str] = ()
    ) -> None:
        self.networks = tuple(networks)
        self._assets: dict[tuple[str, str], tuple[str, int]] = {}
        self._tokens: dict[tuple[str, str], str] = {}
        for one in assets:
            network, token, symbol = one["network"], one["token"], one["symbol"]
            self._assets[network, token.lower()] = symbol, one["decimals"]
            self._tokens[network, symbol.lower()] = self._tokens[network, token.lower()] = token

    def token(self, network: str, text: str) -> str | None:
        """Return the token that an operator names by its symbol or address; None if unknown."""
        return self._tokens.get((network, text.lower()))

    def amount(self, network: str, token: str, base_units: str | int) -> ShownAmount:
        symbol, decimals = self._assets.get((network, token.lower()), ("", 0))
        return ShownAmount(to_decimal(int(base_units), decimals), symbol, str(base_units))

    def symbol(self, network: str, token: str) -> str:
        """Return the symbol, or the address where the catalogue has none."""
        return self._assets.get((network, token.lower()), (token, 0))[0]

    def full_name(self, network: str, token: str) -> str:
        """Return the symbol and the address: an order is confirmed by both."""
        symbol = self.symbol(network, token)
        return token if symbol == token else f"{symbol} ({token})"


def to_decimal(base_units: int, decimals: int) -> str:
    """Return all digits, thousands apart, without zeros at the end."""
    sign = "-" if base_units < 0 else ""
    whole, rest = divmod(abs(base_units), 10**decimals)
    fraction = f"{rest:0{decimals}}".rstrip("0") if decimals else ""
    return f"{sign}{whole:,}.{fraction}" if fraction else f"{sign}{whole:,}"


def to_dollars(micros: str | int) -> str:
    """Return an amount in millionths of a dollar: cents, and all further digits.

    It is exact, so that rows add up to the sum that is shown.
    """
    sign = "-" if int(micros) < 0 else ""
    whole, _, fraction = to_decimal(abs(int(micros)), MICROS).partition(".")
    return f"{sign}${whole}.{fraction:0<2}"
