"""What an order puts at stake, and when a second operator has to approve it. Pure.

The stake is the value that the order lets leave. It is the amount that is paid, or what a cap
allows. For a lifted stop it is the balance of all Treasuries behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

AssetName = tuple[str, str]  # network and token
MICROS: Final = 10**6
MICROSECOND: Final = timedelta(microseconds=1)
DAY: Final = timedelta(days=1) // MICROSECOND
E18: Final = 10**18
BEYOND: Final = "a second operator approves what is above"


@dataclass(frozen=True, slots=True)
class Amount:
    network: str
    token: str
    base_units: int

    @property
    def asset(self) -> AssetName:
        return self.network, self.token


@dataclass(frozen=True, slots=True)
class CapName:
    """What a cap counts: all that leaves a network, or of one token, of one app, or of both."""

    network: str
    token: str | None = None
    app_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class CapLimit:
    """What a cap lets leave in a span of time; base units of its token, else micro-dollars."""

    units: int
    span: timedelta

    def is_above(self, other: CapLimit) -> bool:
        """Whether it lets more leave than the other, at once or over time."""
        if self.units > other.units:
            return True
        # Integers: a product of a timedelta overflows at amounts of 10**9.
        return self.units * other.microseconds > other.units * self.microseconds

    @property
    def microseconds(self) -> int:
        return self.span // MICROSECOND

    @property
    def units_a_day(self) -> int:
        """What it lets leave at once or in a day, whichever is more; rounded up."""
        return max(self.units, -(-self.units * DAY // self.microseconds))


def usd_micros_of(
    amounts: Sequence[Amount],
    *,
    prices: Mapping[AssetName, int],
    decimals: Mapping[AssetName, int],
) -> int | None:
    """Return their value, rounded up; None when one of them has no price.

    :param prices: dollars times 10**18 for one whole token.
    """
    total = 0
    for amount in amounts:
        if amount.base_units <= 0:
            continue
        if amount.asset not in prices or amount.asset not in decimals:
            return None
        scale = 10 ** decimals[amount.asset] * (E18 // MICROS)
        total += -(-amount.base_units * prices[amount.asset] // scale)
    return total


def second_operator_reason(at_stake: int | None, *, above: int) -> str | None:
    """Return why a second operator has to approve; None where one is enough.

    :param at_stake: in micro-dollars; None when its value is not known, which counts as above.
    :param above: one operator alone may decide up to this, in micro-dollars.
    """
    if at_stake is None:
        return f"the value at stake has no price now; {BEYOND} {dollars(above)}"
    if at_stake > above:
        return f"{dollars(at_stake)} are at stake; {BEYOND} {dollars(above)}"
    return None


def dollars(micros: int) -> str:
    """Return an amount for people, rounded up to cents."""
    cents = -(-micros // 10**4)
    return f"${cents // 100:,}.{cents % 100:02}"
