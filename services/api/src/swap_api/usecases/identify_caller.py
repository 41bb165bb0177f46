from __future__ import annotations

from swap_api.domain.keys import Caller, forbidden
from swap_api.domain.refusals import ApiRefusal
from swap_api.ports import Callers
from swap_contracts.public.errors import ErrorCode


class IdentifyCaller:
    """Tell whose request it is by its key."""

    def __init__(self, callers: Callers, *, header: str) -> None:
        """
        :param header: where the key is expected, for the message when there is none.
        """
        self._callers = callers
        self._header = header

    async def __call__(self, key: str | None) -> Caller:
        """
        :raises ApiRefusal: when there is no key, or it opens nothing.
        """
        if not key:
            raise ApiRefusal(
                ErrorCode.API_KEY_REQUIRED, f"Send your API key in the header {self._header}"
            )
        caller = await self._callers.find(key)
        if caller is None:
            raise forbidden("The API key is unknown, revoked or expired")
        return caller
