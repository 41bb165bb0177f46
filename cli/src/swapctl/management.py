"""Client of the management API, for a member with an access token or an operator with a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx

from swapctl.admin_client import TIMEOUT_SECONDS, send_request
from swapctl.endpoints import Endpoints, ServiceName

BASE: Final = "/management/v1"
PAGE_SIZE: Final = 100


class Management:
    """An operator uses the api's internal port, a member the public one."""

    def __init__(self, endpoints: Endpoints, *, as_member: bool | None = None) -> None:
        """
        :param as_member: whether to act as a member; by default, if an access token is set.
        :raises NotConfigured: when the address is unknown, or an operator's token is. A member may
            have no token yet, to accept an invitation.
        """
        self.is_member = endpoints.access_token is not None if as_member is None else as_member
        if self.is_member:
            url, token = endpoints.public_url + BASE, endpoints.access_token or ""
        else:
            url, token = f"{endpoints.url(ServiceName.API)}/admin{BASE}", endpoints.token
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=TIMEOUT_SECONDS,
        )

    def get(self, path: str, **query: str | None) -> Any:
        """
        :raises RequestFailed: with the message of the service.
        """
        parameters = {name: value for name, value in query.items() if value is not None}
        return self._request("GET", path, params=parameters)

    def list_all(self, path: str) -> list[dict[str, Any]]:
        """Return the rows of every page. The endpoint must be paged.

        :raises RequestFailed: with the message of the service.
        """
        return list(self._pages(path))

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """
        :raises RequestFailed: with the message of the service.
        """
        content = {name: value for name, value in (body or {}).items() if value is not None}
        return self._request("POST", path, json=content)

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        page = 1
        while rows := self.get(path, page=str(page), page_size=str(PAGE_SIZE)):
            yield from rows
            if len(rows) < PAGE_SIZE:
                return
            page += 1

    def _request(self, method: str, path: str, **rest: Any) -> Any:
        return send_request("api", self._client, method, path, **rest)["data"]
