"""From base units to the doubles of the public interface, at the very end and nowhere else.

Python divides integers of any size with one correct rounding. A double keeps 15 decimal digits;
`precision` is at most 8 decimals, so amounts below ten million tokens survive unchanged. What is
exact travels beside it as base units.
"""

from __future__ import annotations

from typing import Final

USD_DECIMALS: Final = 18
CENT_FRACTIONS: Final = 6  # decimals of a dollar amount in an answer
PPM: Final = 1_000_000


def amount_down(base_units: int, *, decimals: int, precision: int) -> float:
    """Return whole tokens, cut off at the token's precision: what we pay, or were paid."""
    unit = 10 ** (decimals - precision)
    return _double(base_units // unit, precision)


def amount_up(base_units: int, *, decimals: int, precision: int) -> float:
    """Return whole tokens, rounded up at the token's precision: what we charge."""
    unit = 10 ** (decimals - precision)
    return _double(-(-base_units // unit), precision)


def parts_up(total: int, part: int, *, decimals: int, precision: int) -> tuple[float, float, float]:
    """Return a total, a part of it and the rest of it; the total and the part are rounded up.

    The rest is what remains of the rounded total: rounded up alone, the two could exceed it.
    """
    unit = 10 ** (decimals - precision)
    whole, first = -(-total // unit), -(-part // unit)
    return _double(whole, precision), _double(first, precision), _double(whole - first, precision)


def dollars(base_units: int, *, decimals: int, usd_e18: int) -> float:
    """Return what the amount is worth, cut off at a millionth of a dollar."""
    micros = base_units * usd_e18 // 10 ** (decimals + USD_DECIMALS - CENT_FRACTIONS)
    return _double(micros, CENT_FRACTIONS)


def price(usd_e18: int) -> float:
    return _double(usd_e18, USD_DECIMALS)


def fraction(ppm: int) -> float:
    return ppm / PPM


def ratio(numerator: int, denominator: int) -> float:
    """Return the quotient."""
    return numerator / denominator


def _double(units: int, decimals: int) -> float:
    unit: int = 10**decimals
    return units / unit
