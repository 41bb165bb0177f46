from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from swap_api.admission.store.access_tokens import PostgresAccessTokens
from swap_api.model.members import TOKEN_PREFIX, Actor
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode
from swap_runtime.clock import Clock

LENGTH_MAX: Final = 256


class IdentifyMember:
    """Find a member by the access token."""

    def __init__(
        self,
        tokens: PostgresAccessTokens,
        *,
        hash_token: Callable[[str], bytes],
        other_hashes: Callable[[str], Sequence[bytes]],
        rehash_token: Callable[[str], Awaitable[object]],
        clock: Clock,
    ) -> None:
        """
        :param other_hashes: of a token, by the other peppers of a rotation.
        :param rehash_token: stores the hash of a token that was found by one of those.
        """
        self._tokens = tokens
        self._hash_token = hash_token
        self._other_hashes = other_hashes
        self._rehash_token = rehash_token
        self._clock = clock

    async def __call__(self, token: str | None) -> Actor:
        """
        :raises ApiRefusal: when there is no token, or it is not valid.
        :raises Unavailable: when tokens cannot be looked up.
        """
        if not token:
            raise ApiRefusal(
                ErrorCode.ACCESS_TOKEN_REQUIRED,
                "Send your access token in the header Authorization, as Bearer",
            )
        actor = None
        if token.startswith(TOKEN_PREFIX) and len(token) <= LENGTH_MAX:
            actor = await self._tokens.identify(self._hash_token(token), self._clock())
            if actor is None and (others := self._other_hashes(token)):
                actor = await self._find_by_other_pepper(token, others)
        if actor is None:
            raise ApiRefusal(
                ErrorCode.ACCESS_TOKEN_FORBIDDEN,
                "The access token is unknown, revoked or expired, or its member is gone",
            )
        return actor

    async def _find_by_other_pepper(self, token: str, others: Sequence[bytes]) -> Actor | None:
        for other in others:
            if (actor := await self._tokens.identify(other, self._clock())) is not None:
                await self._rehash_token(token)
                return actor
        # Another request may have hashed it anew between the two looks.
        return await self._tokens.identify(self._hash_token(token), self._clock())
