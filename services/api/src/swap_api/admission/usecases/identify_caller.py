from __future__ import annotations

from swap_api.admission.store.callers import PostgresCallers
from swap_api.model.keys import Caller, forbidden
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode
from swap_runtime.errors import Unavailable


class IdentifyCaller:
    """Find the caller of a request by its API key."""

    def __init__(self, callers: PostgresCallers, *, header: str) -> None:
        """
        :param header: where the key is expected, for the message when there is none.
        """
        self._callers = callers
        self._header = header

    async def __call__(self, key: str | None, *, from_memory: bool = False) -> Caller:
        """
        :param from_memory: whether the last known caller will do while keys cannot be looked up.
        :raises ApiRefusal: when there is no key, or it opens nothing.
        :raises Unavailable: when keys cannot be looked up.
        """
        if not key:
            raise ApiRefusal(
                ErrorCode.API_KEY_REQUIRED, f"Send your API key in the header {self._header}"
            )
        try:
            caller = await self._callers.find(key)
        except Unavailable:
            caller = self._callers.cached_caller(key) if from_memory else None
            if caller is None:
                raise
        if caller is None:
            # Not "expired": clients of authorize take that word for their signature's.
            raise forbidden("The API key is unknown or not valid any more")
        return caller
