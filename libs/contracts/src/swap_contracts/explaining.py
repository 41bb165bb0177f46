"""Why a quote is what it is: everything it was made of, and every integer on the way.

Only with `explain=true`. Numbers are digits in base units, so that the arithmetic can be repeated;
prices are dollars × 10^18 for one whole token. Shown to partners as it is.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class _ClosedModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PriceSourceModel(_ClosedModel):
    """The price of one source."""

    source: str
    usd_e18: str
    at: datetime


class ExplainedPriceModel(_ClosedModel):
    """A price, as the sources agree on it, and the price of each of them."""

    symbol: str
    usd_e18: str
    at: datetime
    age_milliseconds: int
    sources: list[PriceSourceModel]


class ExplainedGasModel(_ClosedModel):
    """What a network's gas may cost, and how many gas units each transaction is assumed to use."""

    network: str
    wei_per_unit: str
    at: datetime
    age_milliseconds: int
    units: dict[str, int]


class FeeRowModel(_ClosedModel):
    """The route's row of the fee table, and the app's own fee."""

    service_fee_basis_points: int
    partner_fee_basis_points: int
    slippage_ppm: int
    min_usd_e18: str
    max_usd_e18: str
    quote_lifetime_seconds: int


class ExplainedLimitsModel(_ClosedModel):
    """In source base units; the maximum is the smaller of the route's and the payable one.

    `payable_max_base_units` is what the destination's inventory can pay.
    """

    min_base_units: str
    max_base_units: str
    route_max_base_units: str
    payable_max_base_units: str


class InventoryModel(_ClosedModel):
    network: str
    token: str
    available_base_units: str


class StepModel(_ClosedModel):
    """One integer, and how it follows from those above it."""

    name: str
    formula: str
    value: str


class RejectedModel(_ClosedModel):
    """Another way that was looked at, and why it is not offered."""

    provider: str
    method: str
    code: str
    message: str


class QuoterExplanationModel(_ClosedModel):
    at: datetime
    provider: str
    method: str
    prices: list[ExplainedPriceModel]
    gas: list[ExplainedGasModel]
    fees: FeeRowModel
    inventory: list[InventoryModel]
    limits: ExplainedLimitsModel
    steps: list[StepModel]
    rejected: list[RejectedModel]
