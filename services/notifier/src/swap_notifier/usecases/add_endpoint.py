"""Adds an endpoint to an app, after looking where it leads."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from swap_notifier import observe
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.adapters.guard import NameUnknown, SystemNames
from swap_notifier.domain.addresses import NOWHERE_PUBLIC, may_dial
from swap_notifier.domain.endpoints import LISTENER_URL, SECRET_BYTES, Endpoint, to_secret
from swap_notifier.domain.urls import UrlRefused, destination_of
from swap_runtime.clock import Clock


class AddEndpoint:
    def __init__(
        self,
        endpoints: PostgresEndpoints,
        names: SystemNames,
        *,
        environment: str,
        allow_loopback: bool,
        clock: Clock,
        new_id: Callable[[], UUID],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._endpoints = endpoints
        self._names = names
        self._environment = environment
        self._allow_loopback = allow_loopback
        self._clock = clock
        self._new_id = new_id
        self._random_bytes = random_bytes

    async def __call__(
        self,
        *,
        app_id: UUID,
        url: str,
        wants_updates: bool,
        wants_notices: bool = False,
        most: int | None = None,
    ) -> tuple[Endpoint, str]:
        """Return the endpoint and its secret, which is never shown again.

        :param most: how many the app may have; None: as many as it likes.
        :raises UrlRefused: when nothing may be sent there.
        :raises TooMany: when the app has so many already.
        :raises DisabledByOperator: when an operator disabled one of the app with the same URL.
        """
        if url != LISTENER_URL:
            await self._check(url)
        now = self._clock()
        endpoint = Endpoint(
            id=self._new_id(),
            app_id=app_id,
            url=url,
            environment=self._environment,
            wants_updates=wants_updates,
            wants_notices=wants_notices,
            created_at=now,
            enabled_from=now,
            disabled_at=None,
            disabled_reason=None,
            failing_since=None,
        )
        secret = to_secret(self._random_bytes(SECRET_BYTES))
        await self._endpoints.add(endpoint, secret=secret, most=most)
        observe.endpoint_changed(endpoint.id, "added")
        return endpoint, secret

    async def _check(self, url: str) -> None:
        is_live = self._environment == "live"
        destination = destination_of(url, is_live=is_live, loopback=self._allow_loopback)
        if destination.is_address:
            return
        try:
            addresses = await self._names.addresses(destination.host, destination.port)
        except NameUnknown as error:
            raise UrlRefused(NOWHERE_PUBLIC) from error
        if not all(may_dial(address, loopback=self._allow_loopback) for address in addresses):
            raise UrlRefused(NOWHERE_PUBLIC)
