"""Asks a service's internal port, as an operator."""

from __future__ import annotations

from typing import Any

import httpx

from swapctl.asking import TIMEOUT_SECONDS, answered
from swapctl.places import Places, ServiceName


class Internal:
    """One service's `/admin`."""

    def __init__(
        self, places: Places, service: ServiceName, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._service = service
        self._client = httpx.Client(
            base_url=places.url(service),
            headers={"Authorization": f"Bearer {places.token}"},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
        )

    def get(self, path: str, **query: str | None) -> Any:
        """
        :raises Failed: with the service's own words.
        """
        asked = {name: value for name, value in query.items() if value is not None}
        return self._ask("GET", path, params=asked)

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """
        :raises Failed: with the service's own words.
        """
        return self._ask("POST", path, json=body or {})

    def _ask(self, method: str, path: str, **rest: Any) -> Any:
        return answered(self._service, self._client, method, f"/admin{path}", **rest)
