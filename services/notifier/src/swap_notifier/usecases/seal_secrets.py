"""Seals stored secrets with the first key, so that the keys behind it can go."""

from __future__ import annotations

from swap_notifier import observe
from swap_notifier.adapters.endpoints import PostgresEndpoints

AT_ONCE_MAX = 1000


class SealSecrets:
    def __init__(self, endpoints: PostgresEndpoints) -> None:
        self._endpoints = endpoints

    async def __call__(self) -> bool:
        """Seal some with the newest key, report how all are stored, and return whether there may be
        more to do.
        """
        number = await self._endpoints.seal_anew(limit=AT_ONCE_MAX)
        if number:
            observe.secrets_sealed_anew(number)
        observe.secrets_counted(await self._endpoints.count_secrets())
        return number == AT_ONCE_MAX
