from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple
from uuid import UUID

from swap_api import observe
from swap_api.admission.decide.idempotency import Claim, Replay
from swap_api.admission.store.idempotency import PostgresIdempotency
from swap_api.model.refusals import ApiRefusal
from swap_runtime.errors import Unavailable


class StoredAnswer(NamedTuple):
    """What is stored of an answer, and the swap it is about."""

    swap_id: UUID | None
    stored: bytes


class AnswerOnce:
    """Answer an idempotency key once, and find that answer again."""

    def __init__(self, idempotency: PostgresIdempotency, *, new_id: Callable[[], UUID]) -> None:
        self._idempotency = idempotency
        self._new_id = new_id

    async def __call__(
        self,
        owner: UUID,
        key: str,
        request_hash: bytes,
        answer: Callable[[], Awaitable[StoredAnswer]],
        *,
        creates: bool,
    ) -> Replay | None:
        """Answer the first request with a key; return the stored answer of any other.

        :param creates: each request creates something new: it is carried out at most once.
        :raises ApiRefusal: when another body used the key, or the first request still runs.
        """
        claim = Claim(owner, key, request_hash, self._new_id())
        replay = await self._idempotency.claim(claim)
        if replay is not None:
            observe.answer_replayed()
            return replay
        answered = await self._answer_claimed(claim, answer, creates=creates)
        try:
            await self._idempotency.save(claim, answered.swap_id, answered.stored)
        except Unavailable as error:  # it was done; only the repetition is lost
            observe.answer_not_stored(error)
        return None

    async def _answer_claimed(
        self, claim: Claim, answer: Callable[[], Awaitable[StoredAnswer]], *, creates: bool
    ) -> StoredAnswer:
        if creates:
            await self._idempotency.begin(claim)
        try:
            return await answer()
        except ApiRefusal:
            await self._idempotency.release(claim)
            raise
        except Unavailable:
            if not creates:  # otherwise it may have been done
                await self._idempotency.release(claim)
            raise
