from __future__ import annotations

from uuid import UUID

from swap_api.funding.usecases.resolve_deposit import ResolveDeposit
from swap_api.model.keys import Caller
from swap_api.model.refusals import NotFound
from swap_api.read_model.store.heads import WatchedHeads
from swap_api.read_model.usecases.read_caught_up import ReadCaughtUp
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_runtime.errors import Unavailable


class ReadSwap:
    """Read one swap of the caller's, by one of its names."""

    def __init__(
        self,
        read_caught_up: ReadCaughtUp,
        heads: WatchedHeads,
        rendering: JsonRendering,
        *,
        deposit: ResolveDeposit,
    ) -> None:
        self._deposit = deposit
        self._read_caught_up = read_caught_up
        self._heads = heads
        self._rendering = rendering

    async def by_id(
        self,
        caller: Caller,
        swap_id: UUID,
        *,
        with_actions: bool,
        source_address: str | None = None,
    ) -> bytes:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        """
        stored = await self._read_caught_up.by_id(caller, swap_id)
        if with_actions:
            stored = await self._deposit.inline(stored, swap_id, source_address)
        heads = await self._heads.current() if stored.rendered.gaps else {}
        return self._rendering.prepare(stored, heads, with_actions=with_actions)

    async def by_transaction_hash(
        self, caller: Caller, transaction_hash: str, source_address: str | None = None
    ) -> bytes:
        """Return the swap with its actions and the one of them to do now.

        :raises NotFound: when no swap of the caller's has the transaction.
        :raises ApiRefusal: for an address that is none.
        """
        found = await self._read_caught_up.by_hash(caller, transaction_hash)
        if found is None:
            raise NotFound
        swap_id, stored = found
        try:
            stored, action = await self._deposit.now(stored, swap_id, source_address)
        except Unavailable:
            action = b"null"  # a swap can be read while no node answers
        heads = await self._heads.current() if stored.rendered.gaps else {}
        return self._rendering.prepare(stored, heads, next_action=action)

    async def deposit_steps(
        self, caller: Caller, swap_id: UUID, source_address: str | None = None
    ) -> bytes:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        :raises ApiRefusal: when a signature is needed and cannot be requested now.
        """
        stored = await self._read_caught_up.by_id(caller, swap_id)
        return await self._deposit.steps(stored, swap_id, source_address)

    async def with_next_action(
        self, caller: Caller, swap_id: UUID, source_address: str | None = None
    ) -> bytes:
        """Return the swap with its next action in place of its actions.

        :raises NotFound: for an unknown id and for one of another tenant alike.
        :raises ApiRefusal: for an address that is none.
        """
        stored = await self._read_caught_up.by_id(caller, swap_id)
        stored, action = await self._deposit.now(stored, swap_id, source_address)
        heads = await self._heads.current() if stored.rendered.gaps else {}
        return self._rendering.prepare(stored, heads, with_actions=False, next_action=action)
