from __future__ import annotations

from uuid import UUID

from swap_api.admission.decide.link_tokens import HmacLinkTokens
from swap_api.admission.decide.pay_links import LinkRight
from swap_api.model.keys import Caller, Scope
from swap_api.pay_links.adapters.pay_rendering import JsonPayRendering
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.usecases.find_own_swap import find_own_swap


class MakeLink:
    """Make the link to the pay page of a swap of the caller's."""

    def __init__(
        self,
        swaps: PostgresSwaps,
        tokens: HmacLinkTokens,
        rendering: JsonPayRendering,
        *,
        page_url: str,
    ) -> None:
        """
        :param page_url: of the pay pages, without a slash at its end; empty where there is none.
        """
        self._swaps = swaps
        self._tokens = tokens
        self._rendering = rendering
        self._page_url = page_url.rstrip("/")

    async def __call__(
        self, caller: Caller, swap_id: UUID, *, may_set_refund_address: bool
    ) -> bytes:
        """
        :raises NotFound: for an unknown id and for the swap of another tenant alike.
        :raises ApiRefusal: when a publishable key requests more than its own rights.
        """
        await find_own_swap(self._swaps, caller, swap_id)
        right = LinkRight.PAY
        if may_set_refund_address:
            caller.require(Scope.SECRET)
            right = LinkRight.REFUND_ADDRESS
        token = self._tokens.make(swap_id, right)
        url = f"{self._page_url}/{swap_id}?token={token}" if self._page_url else None
        return self._rendering.pay_link(token, url, may_set_refund_address=may_set_refund_address)
