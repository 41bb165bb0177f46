"""A quote with the reasons for it."""

from __future__ import annotations

from swap_contracts.explaining import ExplanationModel
from swap_contracts.public.models import QuotedModel


class ExplainedQuoteModel(QuotedModel):
    """`GET /quote?explain=true`."""

    explanation: ExplanationModel
