"""What pay links need from the outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from swap_api.read_model.swaps import StoredSwap
from swap_api.swaps.lookup_ports import SwapEvent


class SetRefundAddresses(Protocol):
    """Reads the refund addresses of swaps."""

    async def of_swap(self, swap_id: UUID) -> str | None:
        """Return the refund address of a swap, None while it is unset.

        :raises Unavailable: when Postgres is away.
        """
        ...


class PayRendering(Protocol):
    """Renders what the holder of a link sees."""

    def pay_swap(
        self,
        stored: StoredSwap,
        heads: Mapping[str, int],
        events: Sequence[SwapEvent],
        *,
        next_action: bytes,
        refund_address: str | None,
        may_set_refund_address: bool,
    ) -> bytes: ...

    def pay_link(self, token: str, url: str | None, *, may_set_refund_address: bool) -> bytes: ...
