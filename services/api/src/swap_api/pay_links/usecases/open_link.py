from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from swap_api.admission.decide.link_tokens import HmacLinkTokens
from swap_api.admission.decide.pay_links import LinkRight
from swap_api.model.keys import Caller, Environment, anonymous_caller
from swap_api.model.refusals import NotFound
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.swaps import StoredSwap


@dataclass(frozen=True, slots=True)
class LinkHolder:
    """The holder of one swap's link: it reads the swap as a publishable key of its app does."""

    caller: Caller
    right: LinkRight

    @property
    def may_set_refund_address(self) -> bool:
        return self.right is LinkRight.REFUND_ADDRESS


class OpenLink:
    """Return what a token permits with a swap."""

    def __init__(
        self, swaps: PostgresSwaps, tokens: HmacLinkTokens, *, environment: Environment
    ) -> None:
        self._swaps = swaps
        self._tokens = tokens
        self._environment = environment

    async def __call__(self, swap_id: UUID, token: str | None) -> LinkHolder:
        """
        :raises NotFound: for an unknown swap and for a wrong token alike.
        """
        right = self._tokens.right_of(swap_id, token or "")
        if right is None:
            raise NotFound
        stored = await self._swaps.find(swap_id)
        if stored is None:
            raise NotFound
        return LinkHolder(self._caller_of(stored), right)

    def _caller_of(self, stored: StoredSwap) -> Caller:
        return replace(anonymous_caller(self._environment), app_id=stored.app_id)
