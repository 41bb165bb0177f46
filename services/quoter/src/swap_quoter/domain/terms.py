"""What a route costs and allows now, worked out once for as long as nothing it stands on moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from swap_quoter.domain.limits import Limits, limits_of
from swap_quoter.domain.market import AssetKey, Market, TimedValue
from swap_quoter.domain.pricing import Rates, rates_of
from swap_quoter.domain.refusals import Method
from swap_quoter.domain.routes import Route

Parts = tuple[Mapping[str, TimedValue], Mapping[str, TimedValue], Mapping[AssetKey, int]]


@dataclass(frozen=True, slots=True)
class Terms:
    rates: Rates
    limits: Limits


@dataclass(frozen=True, slots=True)
class _CachedTerms:
    parts: Parts
    until: datetime
    terms: Terms


class TermsBook:
    """The terms of every requested route, until a part of the market is replaced."""

    def __init__(self, market: Market, *, refuel_usd_e18: int) -> None:
        self._market = market
        self._refuel_usd_e18 = refuel_usd_e18
        self._known: dict[tuple[int, Method, bool, int], _CachedTerms] = {}

    def get(
        self,
        route: Route,
        *,
        refuel: bool,
        now: datetime,
        method: Method = Method.DIRECT,
        partner_fee_basis_points: int = 0,
    ) -> Terms:
        """
        :raises RateUnknown: when a price or a gas cost is missing or too old.
        """
        key = id(route), method, refuel, partner_fee_basis_points
        market = self._market
        known = self._known.get(key)
        if (
            known is not None
            and known.parts[0] is market.prices
            and known.parts[1] is market.gas
            and known.parts[2] is market.inventory
            and now <= known.until
        ):
            return known.terms
        usd_e18 = self._refuel_usd_e18 if refuel else None
        rates = rates_of(
            route,
            market,
            refuel_usd_e18=usd_e18,
            now=now,
            method=method,
            partner_fee_basis_points=partner_fee_basis_points,
        )
        terms = Terms(rates, limits_of(route, rates, market))
        parts = (market.prices, market.gas, market.inventory)
        self._known[key] = _CachedTerms(parts, market.fresh_until(route.tokens), terms)
        return terms
