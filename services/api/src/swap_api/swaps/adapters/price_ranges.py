"""What a route costs between which amounts, as the public models say it.

A cost has a fixed part, in tokens and dollars, and a share of the amount, in per cent. Our own
fee is a share; what the networks take is fixed.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from swap_contracts.public.doubles import amount_down, amount_up, dollars
from swap_contracts.quoting import PriceRange, RangesAnswer
from swap_domain.catalogue import Token

BASIS_POINTS_OF_A_PERCENT: Final = 100


class PriceRanges:
    """The ranges of one route, in its source token."""

    def __init__(self, answer: RangesAnswer, source: Token) -> None:
        self._answer = answer
        self._source = source
        self._usd_e18 = int(answer.source_usd_e18)

    def render_details(self) -> bytes:
        """Return the items of `GET /detailed_quote`."""
        return orjson.dumps([self._render_range(one) for one in self._answer.ranges])

    def rates(self) -> bytes:
        """Return the items of the legacy rate endpoint; its fee is what the least amount pays."""
        return orjson.dumps(
            [
                {
                    "min_amount": self._up(one.min_base_units),
                    "fee_amount": self._up(one.min_fee_base_units),
                    "max_amount": self._down(one.max_base_units),
                }
                for one in self._answer.ranges
            ]
        )

    def _render_range(self, one: PriceRange) -> dict[str, Any]:
        fixed, fixed_usd = self._up(one.fixed_fee_base_units), self._usd(one.fixed_fee_base_units)
        share = one.service_fee_basis_points / BASIS_POINTS_OF_A_PERCENT
        path = [
            {
                "id": f"{step.order}",
                "order": step.order,
                "provider_name": step.provider,
                "service_fee_in_source": 0.0,
                "service_fee_in_usd": 0.0,
                "service_fee_percentage": share,
                "expense_in_source": fixed,
                "expense_fee_in_usd": fixed_usd,
                "expense_fee_percentage": 0.0,
                "fee_in_source": fixed,
                "fee_in_usd": fixed_usd,
                "avg_completion_milliseconds": one.completion_milliseconds,
            }
            for step in one.path
        ]
        return {
            "avg_completion_milliseconds": one.completion_milliseconds,
            "min_amount": self._up(one.min_base_units),
            "min_amount_in_usd": self._usd(one.min_base_units),
            "max_amount": self._down(one.max_base_units),
            "max_amount_in_usd": self._usd(one.max_base_units),
            "fee_amount_for_min": self._up(one.min_fee_base_units),
            "fee_amount_for_max": self._up(one.max_fee_base_units),
            "total_percentage_fee": share,
            "total_fixed_fee_in_usd": fixed_usd,
            "total_fixed_fee_in_source": fixed,
            "path": path,
        }

    def _up(self, base_units: str) -> float:
        token = self._source
        return amount_up(int(base_units), decimals=token.decimals, precision=token.precision)

    def _down(self, base_units: str) -> float:
        token = self._source
        return amount_down(int(base_units), decimals=token.decimals, precision=token.precision)

    def _usd(self, base_units: str) -> float:
        return dollars(int(base_units), decimals=self._source.decimals, usd_e18=self._usd_e18)
