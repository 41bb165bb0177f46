"""Prices, gas costs and inventory of this moment, in memory: a quote needs no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from swap_domain.catalogue import Token
from swap_quoter.domain.refusals import RateUnknown

USD_DECIMALS = 18
AssetKey = tuple[str, str]  # network, token
RouteKey = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class TimedValue:
    """A number and the moment it was true."""

    value: int
    at: datetime


@dataclass(frozen=True, slots=True)
class InventoryUpdate:
    """What can be paid out of one asset; of two updates the higher version is the newer."""

    network: str
    token: str
    version: int
    available_base_units: int


class PriceInvalid(ValueError):
    """A price that is not digits with an optional point, or not above zero."""


@dataclass(slots=True)
class Market:
    """Each part is replaced as a whole by the task that follows it."""

    prices_max_age: timedelta | None  # None: their age does not count
    gas_max_age: timedelta
    prices: Mapping[str, TimedValue] = field(
        default_factory=dict
    )  # by price symbol, dollars at 18 decimals
    prices_by_source: Mapping[str, Mapping[str, TimedValue]] = field(
        default_factory=dict
    )  # by source, its last prices: they explain a price to an operator
    gas: Mapping[str, TimedValue] = field(default_factory=dict)  # by network, wei for one unit
    inventory: Mapping[AssetKey, int] = field(default_factory=dict)
    completion_milliseconds: Mapping[RouteKey, int] = field(default_factory=dict)

    def find_price(self, token: Token, *, now: datetime) -> int | None:
        """Return dollars at 18 decimals for one whole token; a price beyond its bound is none."""
        price = self.prices.get(token.price_symbol)
        if price is None or _is_stale(price, self.prices_max_age, now):
            return None
        return price.value

    def get_price(self, token: Token, *, now: datetime) -> int:
        """
        :raises RateUnknown: when there is none, or it is too old.
        """
        price = self.find_price(token, now=now)
        if price is None:
            raise RateUnknown
        return price

    def get_gas(self, network: str, *, now: datetime) -> int:
        """Return what one unit of gas may cost there, in wei.

        :raises RateUnknown: without a price, or without a fresh one.
        """
        gas = self.gas.get(network)
        if gas is None or _is_stale(gas, self.gas_max_age, now):
            raise RateUnknown
        return gas.value

    def fresh_until(self, tokens: Iterable[Token]) -> datetime:
        """Return the last moment at which what is known of these tokens is not too old.

        All of it must be known.
        """
        ends = []
        for token in tokens:
            ends.append(self.gas[token.network].at + self.gas_max_age)
            if self.prices_max_age is not None:
                ends.append(self.prices[token.price_symbol].at + self.prices_max_age)
        return min(ends)

    def available(self, token: Token) -> int:
        """Return what can be paid out now; no news is nothing."""
        return self.inventory.get((token.network, token.address), 0)


def to_usd_e18(dollars: str) -> int:
    """Return dollars at 18 decimals from digits with an optional point.

    :raises PriceInvalid: for anything else, for zero, and for more than 18 decimals.
    """
    whole, _, fraction = dollars.partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdecimal()) or len(fraction) > USD_DECIMALS:
        raise PriceInvalid(dollars)
    value = int(whole + fraction.ljust(USD_DECIMALS, "0"))
    if value == 0:
        raise PriceInvalid(dollars)
    return value


def _is_stale(known: TimedValue, max_age: timedelta | None, now: datetime) -> bool:
    return max_age is not None and now - known.at > max_age
