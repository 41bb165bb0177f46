from __future__ import annotations

from collections.abc import Callable
from typing import Final

from swap_api.admission.store.access_tokens import PostgresAccessTokens
from swap_api.admission.store.pepper_rotation import PostgresPepperRotation
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
        rotation: PostgresPepperRotation,
        clock: Clock,
    ) -> None:
        self._tokens = tokens
        self._hash_token = hash_token
        self._rotation = rotation
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
            actor = await self._identify(self._hash_token(token))
            if actor is None:
                actor = await self._rotation.find(token, self._identify)
        if actor is None:
            raise ApiRefusal(
                ErrorCode.ACCESS_TOKEN_FORBIDDEN,
                "The access token is unknown, revoked or expired, or its member is gone",
            )
        return actor

    async def _identify(self, token_hash: bytes) -> Actor | None:
        return await self._tokens.identify(token_hash, self._clock())
