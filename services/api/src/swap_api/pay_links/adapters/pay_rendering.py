"""What the holder of a link sees of a swap: members are chosen, so that a new one is not shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from swap_api.read_model.swaps import StoredSwap
from swap_api.swaps.adapters.history_rendering import render_event
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.history import QuoteRevision, SwapEvent
from swap_contracts.public.pay import PayTransactionModel

OF_SWAP: Final = (
    "id",
    "status",
    "fail_reason",
    "created_date",
    "close_date",
    "source_network",
    "source_token",
    "destination_network",
    "destination_token",
    "requested_amount",
    "source_address",
    "destination_address",
)
OF_QUOTE: Final = ("receive_amount", "min_receive_amount")
OF_TRANSACTION: Final = tuple(
    field.alias or name for name, field in PayTransactionModel.model_fields.items()
)


class JsonPayRendering:
    """Renders what the holder of a link sees."""

    def __init__(self, rendering: JsonRendering) -> None:
        self._rendering = rendering

    def prepare(
        self, stored: StoredSwap, heads: Mapping[str, int], *, next_action: bytes
    ) -> dict[str, Any]:
        """Return the whole answer, which `pay_swap` chooses members of."""
        document = self._rendering.prepare(
            stored, heads, with_actions=False, next_action=next_action
        )
        answer: dict[str, Any] = orjson.loads(document)
        return answer

    def pay_swap(
        self,
        read: Mapping[str, Any],
        events: Sequence[SwapEvent],
        quotes: Sequence[QuoteRevision],
        *,
        expires_at: datetime,
        refund_address: str | None,
        may_set_refund_address: bool,
        frame_origins: Sequence[str],
    ) -> bytes:
        """
        :param read: as prepared.
        :param quotes: of the swap, where another one replaced the first; others are not used.
        """
        swap, quote = read["swap"], read["quote"]
        shown = {name: swap[name] for name in OF_SWAP}
        shown |= {name: quote[name] for name in OF_QUOTE}
        replaced = quotes if is_repriced(read) else ()
        first = next((one for one in replaced if one.revision == 0), None)
        shown["first_requested_amount"] = first and self._rendering.requested_amount(first)
        shown["expires_at"] = expires_at.isoformat()
        shown["refuel"] = read["refuel"]
        shown["refund_address"] = refund_address
        shown["may_set_refund_address"] = may_set_refund_address
        shown["frame_origins"] = list(frame_origins)
        shown["transactions"] = [
            {name: one[name] for name in OF_TRANSACTION} for one in swap["transactions"]
        ]
        shown["timeline"] = [orjson.Fragment(render_event(one)) for one in events]
        shown["next_action"] = read["next_action"]
        return orjson.dumps(shown)

    def pay_link(self, token: str, url: str | None, *, may_set_refund_address: bool) -> bytes:
        return orjson.dumps(
            {"read_token": token, "url": url, "may_set_refund_address": may_set_refund_address}
        )


def is_repriced(read: Mapping[str, Any]) -> bool:
    """Whether another quote replaced the first one of a prepared answer."""
    return bool(read["swap"]["quote_revision"])
