"""A quote with the reasons for it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from swap_contracts.explaining import QuoterExplanationModel
from swap_contracts.public.models import QuotedModel


class ParsedAmountModel(BaseModel):
    """An amount as it was sent, and what is used of it: decimals beyond the precision are cut."""

    model_config = ConfigDict(extra="forbid")

    member: Literal["amount", "receive_amount"]
    sent: str
    used: str
    used_base_units: str
    is_cut: bool


class ExplanationModel(QuoterExplanationModel):
    amount: ParsedAmountModel


class ExplainedQuoteModel(QuotedModel):
    """`GET /quote?explain=true`."""

    explanation: ExplanationModel
