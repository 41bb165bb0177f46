"""Numbers as callers write them, read digit by digit: never a float, nothing rounded up."""

from __future__ import annotations

import re
from typing import Final

from swap_api.model.refusals import Invalid

TEXT_MAX: Final = 100
EXPONENT_MAX: Final = 36  # of ten: the largest number that is an amount
PPM_DECIMALS: Final = 6
SLIPPAGE_PPM_END: Final = 800_000

_NUMBER: Final = re.compile(r"\+?([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?")


def parse_amount(text: str, *, precision: int, decimals: int, field: str = "amount") -> int:
    """Return base units, cut off at the token's precision; zero is for the caller to refuse.

    :raises Invalid: for what is no number, is negative, or lies beyond 10^36.
    """
    digits, scale = _read(text, field)
    unit: int = 10 ** (decimals - precision)
    return _units(digits, scale, precision) * unit


def is_cut(text: str, *, precision: int, field: str = "amount") -> bool:
    """Return whether digits of the amount lie beyond the token's precision.

    :raises Invalid: for what is no number, is negative, or lies beyond 10^36.
    """
    digits, scale = _read(text, field)
    beyond = min(max(scale - precision, 0), len(digits))
    return bool(beyond and digits[-beyond:].strip("0"))


def decimal_text(base_units: int, decimals: int) -> str:
    """Return base units as whole tokens, digit by digit."""
    whole, fraction = divmod(base_units, 10**decimals)
    return f"{whole}.{fraction:0{decimals}}".rstrip("0").rstrip(".") if fraction else str(whole)


def parse_slippage(text: str, *, field: str = "slippage") -> int:
    """Return parts per million, cut off; 0.0025 is 2500.

    :raises Invalid: for what is no fraction, and at 0.8 and above.
    """
    digits, scale = _read(text, field)
    ppm = _units(digits, scale, PPM_DECIMALS)
    if ppm >= SLIPPAGE_PPM_END:
        raise Invalid.field(field, "must be below 0.8, which is 80 %")
    return ppm


def _read(text: str, field: str) -> tuple[str, int]:
    """Return the digits and how many of them are decimals (below zero: how many zeros follow)."""
    match = _NUMBER.fullmatch(text) if len(text) <= TEXT_MAX else None
    if match is None or not (match[1] or match[2]):
        why = "must not be negative" if text.startswith("-") else "must be a number"
        raise Invalid.field(field, why)
    whole, decimals, exponent = match[1], match[2] or "", int(match[3] or 0)
    digits = (whole + decimals).lstrip("0")
    scale = len(decimals) - exponent
    if digits and len(digits) - scale > EXPONENT_MAX + 1:
        raise Invalid.field(field, "is too large")
    return digits or "0", scale


def _units(digits: str, scale: int, precision: int) -> int:
    shift = precision - scale
    if digits == "0":
        return 0
    if shift >= 0:
        unit: int = 10**shift
        return int(digits) * unit
    return int(digits[:shift] or "0")
