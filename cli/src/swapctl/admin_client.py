"""Clients of a service's internal port and of the management API; a refusal becomes one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx

from swapctl.endpoints import Endpoints, ServiceName
from swapctl.port_forwards import ForwardFailed

TIMEOUT_SECONDS: Final = 10
ORDER_TIMEOUT_SECONDS: Final = 30  # longer than a service needs to answer an order
MANAGEMENT: Final = "/management/v1"
PAGE_SIZE: Final = 100


class RequestFailed(Exception):
    """A service refused the request, or did not answer."""


class ServiceUnavailable(RequestFailed):
    """A service did not answer, or is unavailable; a later request may succeed."""


class AwaitsApproval(RequestFailed):
    """An order was not carried out yet: a second operator must approve it."""

    def __init__(self, proposal: Mapping[str, Any]) -> None:
        super().__init__(
            f"Not carried out yet: {proposal['why']}. Another operator must approve it by "
            f"{proposal['expires_at']}: swapctl approvals approve {proposal['id']}"
        )


def internal_url(endpoints: Endpoints, service: ServiceName) -> str:
    """Return the address of a service's internal port.

    :raises NotConfigured: when it is not known.
    :raises ServiceUnavailable: when the cluster's port cannot be forwarded.
    """
    try:
        return endpoints.url(service)
    except ForwardFailed as error:
        raise ServiceUnavailable(f"{service}: {error}") from error


class AdminClient:
    """Sends requests with a token to one service.

    Each raises RequestFailed with the message of the service, and ServiceUnavailable when the same
    request may succeed later. It raises AwaitsApproval when the request is stored until a second
    operator approves it.
    """

    def __init__(self, service: ServiceName, url: str, token: str) -> None:
        self._service = service
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=TIMEOUT_SECONDS,
        )

    def get(self, path: str, **query: str | None) -> Any:
        parameters = {name: value for name, value in query.items() if value is not None}
        return self._request("GET", path, params=parameters)

    def _request(self, method: str, path: str, **rest: Any) -> Any:
        try:
            answer = self._client.request(method, path, **rest)
        except httpx.ConnectError as error:
            raise self._unavailable(error) from error
        except httpx.HTTPError as error:
            unknown = "" if method == "GET" else ". The outcome is unknown: swapctl audit shows it"
            raise self._unavailable(error, unknown) from error
        if answer.is_success:
            content = answer.json() if answer.content else {}
            if answer.status_code == httpx.codes.ACCEPTED and "proposal" in content:
                raise AwaitsApproval(content["proposal"])
            return content
        is_busy = answer.status_code == httpx.codes.TOO_MANY_REQUESTS
        failure = ServiceUnavailable if answer.is_server_error or is_busy else RequestFailed
        raise failure(f"{self._service} answered {answer.status_code}: {_words(answer)}")

    def _unavailable(self, error: httpx.HTTPError, more: str = "") -> ServiceUnavailable:
        return ServiceUnavailable(f"{self._service}: {type(error).__name__}: {error}{more}")


class Internal(AdminClient):
    """One service's `/admin`, for an operator."""

    def __init__(self, endpoints: Endpoints, service: ServiceName) -> None:
        super().__init__(service, f"{internal_url(endpoints, service)}/admin", endpoints.token)

    def get_all(self, path: str, name: str) -> list[dict[str, Any]]:
        """Return the rows of a list, of all of its pages."""
        rows: list[dict[str, Any]] = self.get_whole(path, name)[name]
        return rows

    def get_whole(self, path: str, name: str) -> dict[str, Any]:
        """Return the answer with the rows of a list, of all of its pages."""
        whole: dict[str, Any] = self.get(path)
        following = whole.pop("next", None)
        while following:
            page = self.get(path, **following)
            whole[name] += page[name]
            following = page.get("next")
        return whole

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._request("POST", path, json=body or {}, timeout=ORDER_TIMEOUT_SECONDS)


class Management(AdminClient):
    """The management API: an operator uses the api's internal port, a member the public one."""

    def __init__(self, endpoints: Endpoints, *, as_member: bool | None = None) -> None:
        """
        :param as_member: whether to act as a member; by default, if an access token is set.
        :raises NotConfigured: when the address is unknown, or an operator's token is. A member may
            have no token yet, to accept an invitation.
        """
        is_member = endpoints.access_token is not None if as_member is None else as_member
        if is_member:
            url, token = endpoints.public_url, endpoints.access_token or ""
        else:
            url, token = f"{internal_url(endpoints, ServiceName.API)}/admin", endpoints.token
        super().__init__(ServiceName.API, url + MANAGEMENT, token)

    def list_all(self, path: str) -> list[dict[str, Any]]:
        """Return the rows of every page. The endpoint must be paged."""
        return list(self._pages(path))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
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
        return super()._request(method, path, **rest)["data"]


def _words(answer: httpx.Response) -> str:
    try:
        content = answer.json()
    except ValueError:
        return answer.text[:300]
    error = content.get("error", content) if isinstance(content, dict) else content
    return str(error.get("message", error) if isinstance(error, dict) else error)
