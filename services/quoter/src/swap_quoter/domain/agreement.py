"""One price for each symbol out of the prices of several sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from swap_quoter.domain.market import TimedValue

BASIS_POINTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """How old a price may be, and how far apart the sources."""

    max_age: timedelta | None  # None: their age does not count
    spread_basis_points_max: int  # highest minus lowest, of the median; beyond it there is no price


@dataclass(frozen=True, slots=True)
class AgreedPrices:
    prices: Mapping[str, TimedValue]
    disputed: Mapping[str, int]  # basis points between the lowest and the highest


def agree(
    prices_of_sources: Iterable[Mapping[str, TimedValue]],
    bounds: Bounds,
    *,
    now: datetime,
    single_provider_feeds: Iterable[Mapping[str, TimedValue]] = (),
) -> AgreedPrices:
    """Return the median of every symbol's fresh prices, as old as the oldest of them.

    A symbol with sources too far apart has no price: one of them is wrong. A symbol with only old
    sources keeps the newest price, which quotes refuse by its age.

    :param single_provider_feeds: feeds of a live network whose nodes belong to one company: it
        could invent the price. They count only beside a fresh price of another source.
    """
    by_symbol = _by_symbol(prices_of_sources)
    for symbol, prices_of_one in _by_symbol(single_provider_feeds).items():
        others = by_symbol.get(symbol, [])
        if any(not _is_stale(price, bounds, now) for price in others):
            others.extend(prices_of_one)
    prices: dict[str, TimedValue] = {}
    disputed: dict[str, int] = {}
    for symbol, candidates in by_symbol.items():
        fresh = [p for p in candidates if not _is_stale(p, bounds, now)]
        if not fresh:
            prices[symbol] = max(candidates, key=lambda price: price.at)
            continue
        median = _median(sorted(price.value for price in fresh))
        spread = max(p.value for p in fresh) - min(p.value for p in fresh)
        if spread * BASIS_POINTS > bounds.spread_basis_points_max * median:
            disputed[symbol] = -(-spread * BASIS_POINTS // median)
        else:
            prices[symbol] = TimedValue(median, min(price.at for price in fresh))
    return AgreedPrices(prices, disputed)


def _by_symbol(sources: Iterable[Mapping[str, TimedValue]]) -> dict[str, list[TimedValue]]:
    by_symbol: dict[str, list[TimedValue]] = {}
    for source in sources:
        for symbol, price in source.items():
            by_symbol.setdefault(symbol, []).append(price)
    return by_symbol


def _median(values: Sequence[int]) -> int:
    """Return the median; of two in the middle, their mean, rounded down."""
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) // 2


def _is_stale(price: TimedValue, bounds: Bounds, now: datetime) -> bool:
    return bounds.max_age is not None and now - price.at > bounds.max_age
