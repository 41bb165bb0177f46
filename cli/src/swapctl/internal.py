"""Sends requests to a service's internal port, as an operator."""

from __future__ import annotations

from typing import Any

import httpx

from swapctl.admin_client import ORDER_TIMEOUT_SECONDS, TIMEOUT_SECONDS, send_request
from swapctl.endpoints import Endpoints, ServiceName


class Internal:
    """One service's `/admin`."""

    def __init__(
        self,
        endpoints: Endpoints,
        service: ServiceName,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._service = service
        self._client = httpx.Client(
            base_url=endpoints.url(service),
            headers={"Authorization": f"Bearer {endpoints.token}"},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
        )

    def get(self, path: str, **query: str | None) -> Any:
        """
        :raises RequestFailed: with the message of the service.
        """
        parameters = {name: value for name, value in query.items() if value is not None}
        return self._request("GET", path, params=parameters)

    def get_all(self, path: str, name: str, **query: str | None) -> list[dict[str, Any]]:
        """Return the rows of a list, of all of its pages.

        :raises RequestFailed: with the message of the service.
        """
        rows: list[dict[str, Any]] = self.get_whole(path, name, **query)[name]
        return rows

    def get_whole(self, path: str, name: str, **query: str | None) -> dict[str, Any]:
        """Return the answer with the rows of a list, of all of its pages.

        :raises RequestFailed: with the message of the service.
        """
        whole: dict[str, Any] = self.get(path, **query)
        following = whole.pop("next", None)
        while following:
            page = self.get(path, **{**query, **following})
            whole[name] += page[name]
            following = page.get("next")
        return whole

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """
        :raises RequestFailed: with the message of the service.
        """
        return self._request("POST", path, json=body or {}, timeout=ORDER_TIMEOUT_SECONDS)

    def _request(self, method: str, path: str, **rest: Any) -> Any:
        return send_request(self._service, self._client, method, f"/admin{path}", **rest)
