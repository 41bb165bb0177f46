"""The parts of a price, and the quoter's requests over internal HTTP.

Prices are dollars × 10^18 for one whole token. Amounts are base units.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from swap_contracts.envelope import BaseUnits, Digits, Message
from swap_contracts.explaining import QuoterExplanationModel

FundingMethod = Literal["direct", "deposit_address", "depository", "gasless"]
QUESTIONS_MAX: Final = 64  # in one request
PARTNER_FEE_MAX: Final = 1000  # basis points: a tenth


class AssetRef(Message):
    network: str
    token: str  # the zero address for the native token
    decimals: int


class PathStep(Message):
    provider: str
    order: int


class Quote(Message):
    """A complete quote: everything a public answer shows and everything settling needs."""

    source: AssetRef
    destination: AssetRef
    requested_base_units: BaseUnits  # source
    receive_base_units: BaseUnits  # destination
    min_receive_base_units: BaseUnits  # destination
    blockchain_fee_base_units: BaseUnits  # source
    service_fee_base_units: BaseUnits  # source; the partner's part is in it
    total_fee_base_units: BaseUnits  # source; the sum of the two
    fee_discount_base_units: BaseUnits  # source
    refuel_in_source_base_units: BaseUnits | None
    refuel_base_units: BaseUnits | None  # destination's native token
    slippage_ppm: int  # parts per million
    source_usd_e18: Digits
    destination_usd_e18: Digits
    source_native_usd_e18: Digits
    destination_native_usd_e18: Digits
    completion_milliseconds: int
    path: tuple[PathStep, ...]
    partner_fee_basis_points: int = 0
    partner_fee_base_units: BaseUnits = "0"  # source; owed to the app that created the swap


class _Question(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RouteQuestion(_Question):
    """Networks by name and tokens by address, as the catalogue has them."""

    source_network: str
    source_token: str
    destination_network: str
    destination_token: str
    method: FundingMethod = "depository"
    refuel: bool = False
    partner_fee_basis_points: int = Field(default=0, ge=0, le=PARTNER_FEE_MAX)


class QuoteQuestion(RouteQuestion):
    base_units: BaseUnits  # source
    is_open: bool = False  # the amount is that of the deposit, which is not there yet
    slippage_ppm: int | None = None
    receive_base_units: BaseUnits | None = None  # destination; asks for the amount that brings it
    explain: bool = False


class QuoteAnswer(Message):
    quote: Quote
    lifetime_seconds: int  # how long a swap may rely on it
    explanation: QuoterExplanationModel | None = None


class LimitsAnswer(Message):
    min_base_units: BaseUnits  # source
    max_base_units: BaseUnits  # source; below min when nothing can be paid now
    source_usd_e18: Digits


class PriceRange(Message):
    """Amounts between which a route costs the same: a fixed part, and a share."""

    min_base_units: BaseUnits  # source
    max_base_units: BaseUnits  # source
    min_fee_base_units: BaseUnits  # source; everything that the smallest amount pays
    max_fee_base_units: BaseUnits  # source; everything that the largest amount pays
    fixed_fee_base_units: BaseUnits  # source
    service_fee_basis_points: int
    completion_milliseconds: int
    path: tuple[PathStep, ...]


class RangesAnswer(Message):
    """The ranges that a route is open for, the smallest first; none when nothing can be paid."""

    ranges: tuple[PriceRange, ...]
    source_usd_e18: Digits


class Price(Message):
    network: str
    token: str
    usd_e18: Digits


class PricesAnswer(Message):
    """Every price that is fresh. A token without one cannot be quoted."""

    prices: tuple[Price, ...]


class Refusal(Message):
    """Why the quoter refuses. `code` is one of the public error codes."""

    code: str
    message: str
    limit_base_units: BaseUnits | None = None  # source; for amounts outside the limits


class QuoteQuestions(_Question):
    """Concurrent requests, sent together."""

    questions: tuple[QuoteQuestion, ...] = Field(min_length=1, max_length=QUESTIONS_MAX)


class QuoteOutcome(Message):
    """The answer to one of several questions, or why there is none."""

    answer: QuoteAnswer | None = None
    refusal: Refusal | None = None


class QuotesAnswer(Message):
    """One outcome for each question, in their order."""

    outcomes: tuple[QuoteOutcome, ...]
