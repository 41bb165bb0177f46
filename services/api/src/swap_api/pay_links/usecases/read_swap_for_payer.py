"""What a pay page shows: the swap, its events, and what the payer has to do now."""

from __future__ import annotations

import asyncio
from typing import Final
from uuid import UUID

from swap_api.funding.usecases.resolve_deposit import ResolveDeposit
from swap_api.pay_links.adapters.pay_rendering import JsonPayRendering, is_repriced
from swap_api.pay_links.store.frame_origins import PostgresFrameOrigins
from swap_api.pay_links.usecases.open_link import LinkHolder
from swap_api.read_model.store.heads import WatchedHeads
from swap_api.read_model.swaps import StoredSwap
from swap_api.read_model.usecases.read_caught_up import ReadCaughtUp
from swap_api.swaps.store.history import PostgresHistory
from swap_api.swaps.store.refund_addresses import PostgresRefundAddresses
from swap_runtime.errors import Unavailable

NO_ACTION: Final = b"null"


class ReadSwapForPayer:
    """Read a swap as its payer sees it, with the one thing to do now."""

    def __init__(
        self,
        read_caught_up: ReadCaughtUp,
        heads: WatchedHeads,
        rendering: JsonPayRendering,
        *,
        deposit: ResolveDeposit,
        history: PostgresHistory,
        refund_addresses: PostgresRefundAddresses,
        frame_origins: PostgresFrameOrigins,
    ) -> None:
        self._read_caught_up = read_caught_up
        self._heads = heads
        self._rendering = rendering
        self._deposit = deposit
        self._history = history
        self._refund_addresses = refund_addresses
        self._frame_origins = frame_origins

    async def __call__(
        self, holder: LinkHolder, swap_id: UUID, source_address: str | None = None
    ) -> bytes:
        """
        :param source_address: the payer's wallet, if known: it may have to approve or sign.
        :raises NotFound: for an unknown id and for one of another tenant alike.
        :raises ApiRefusal: for a source address that is none.
        """
        stored = await self._read_caught_up.by_id(holder.caller, swap_id)
        action, events, refund_address, frame_origins = await asyncio.gather(
            self._action(stored, swap_id, source_address),
            self._history.events(swap_id),
            self._refund_addresses.of_swap(swap_id),
            self._frame_origins.of_app(stored.app_id),
        )
        heads = await self._heads.current() if stored.rendered.gaps else {}
        read = self._rendering.prepare(stored, heads, next_action=action)
        # Few swaps are repriced: only they cost this query.
        quotes = await self._history.quotes(swap_id) if is_repriced(read) else ()
        return self._rendering.pay_swap(
            read,
            events,
            quotes,
            expires_at=stored.expires_at,
            refund_address=refund_address,
            may_set_refund_address=holder.may_set_refund_address and refund_address is None,
            frame_origins=frame_origins,
        )

    async def _action(self, stored: StoredSwap, swap_id: UUID, source_address: str | None) -> bytes:
        try:
            _, action = await self._deposit.now(stored, swap_id, source_address)
        except Unavailable:
            return NO_ACTION  # without an answer of a node, the swap is shown without its action
        return action
