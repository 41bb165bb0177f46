from __future__ import annotations

from uuid import UUID

from swap_api.funding.adapters.gasless_rendering import JsonGaslessRendering
from swap_api.funding.store.sign_requests import PostgresSignRequests
from swap_api.funding.usecases.authorize_deposit import not_requested
from swap_api.model.gasless import status_of
from swap_api.model.keys import Caller
from swap_api.read_model.store.heads import WatchedHeads
from swap_api.read_model.usecases.read_caught_up import ReadCaughtUp
from swap_runtime.clock import Clock


class ReadAuthorization:
    """Say how far the signature of a swap is."""

    def __init__(
        self,
        read_caught_up: ReadCaughtUp,
        heads: WatchedHeads,
        rendering: JsonGaslessRendering,
        *,
        requests: PostgresSignRequests,
        clock: Clock,
    ) -> None:
        self._read_caught_up = read_caught_up
        self._heads = heads
        self._rendering = rendering
        self._requests = requests
        self._clock = clock

    async def __call__(self, caller: Caller, swap_id: UUID) -> bytes:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        :raises ApiRefusal: when no signature was requested.
        """
        stored = await self._read_caught_up.by_id(caller, swap_id)
        if stored.gasless is None:
            raise not_requested()
        newest = await self._requests.find_submission(swap_id)
        request = await self._requests.latest_of_any_signer(swap_id)
        status = status_of(stored.gasless, newest, request, self._clock())
        if status is None:
            raise not_requested()
        known = stored.gasless.authorization
        # The settler's report may be about an earlier submission.
        is_old = known is None or (newest is not None and known.submission < newest.submission)
        heads = await self._heads.current()
        return self._rendering.authorization(
            status, None if is_old else known, heads.get(stored.gasless.network)
        )
