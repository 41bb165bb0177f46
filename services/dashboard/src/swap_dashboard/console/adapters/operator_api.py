"""The services' internal ports over HTTP, with the token of the operator who is signed in."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx
import orjson

from swap_dashboard.console import observe
from swap_dashboard.console.ports import (
    Identity,
    OrderAnswer,
    ServiceName,
    ServiceRefused,
    ServiceUnavailable,
    TokenRefused,
)

CONNECTIONS_MAX: Final = 50
UNKNOWN_ROUTE: Final = "this service is of another release, which does not have this page or order"
ERROR_TEXT_MAX: Final = 500
# A service may still have an earlier list of operators until it restarts.
IDENTITY_SERVICES: Final = (ServiceName.SETTLER, ServiceName.CHAIN_WATCHER, ServiceName.API)


class HttpServices:
    def __init__(
        self, urls: Mapping[ServiceName, str], *, answer_seconds: float, order_seconds: float
    ) -> None:
        self._clients = {
            service: httpx.AsyncClient(
                base_url=url.rstrip("/") + "/admin",
                timeout=httpx.Timeout(answer_seconds, pool=answer_seconds),
                limits=httpx.Limits(max_connections=CONNECTIONS_MAX),
                follow_redirects=False,
                trust_env=False,
            )
            for service, url in urls.items()
        }
        self._order_seconds = order_seconds

    def as_operator(self, token: str) -> HttpOperatorApi:
        return HttpOperatorApi(self._clients, token, order_seconds=self._order_seconds)

    async def identify(self, token: str) -> Identity | None:
        """Return the token's operator; None for one without a role for people.

        :raises ServiceUnavailable: when no service answers.
        """
        api, is_refused = self.as_operator(token), False
        for service in IDENTITY_SERVICES:
            try:
                content = await api.get(service, "/identity")
            except (TokenRefused, ServiceRefused):
                is_refused = True  # a service that has not restarted may lack it
            except ServiceUnavailable:
                continue
            else:
                return Identity(str(content["name"]), str(content["role"]))
        if is_refused:
            return None
        raise ServiceUnavailable(IDENTITY_SERVICES[0])

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()


class HttpOperatorApi:
    def __init__(
        self, clients: Mapping[ServiceName, httpx.AsyncClient], token: str, *, order_seconds: float
    ) -> None:
        self.services = tuple(clients)
        self._clients = clients
        self._headers = {"Authorization": f"Bearer {token}"}
        self._order_seconds = order_seconds

    async def get(
        self,
        service: ServiceName,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        is_slow: bool = False,
    ) -> Mapping[str, Any]:
        options = {"timeout": self._order_seconds} if is_slow else {}
        _, content = await self._request(service, "GET", path, params=dict(query or {}), **options)
        return content

    async def order(self, service: ServiceName, path: str, body: Mapping[str, Any]) -> OrderAnswer:
        seconds = self._order_seconds
        status, content = await self._request(
            service, "POST", path, json=dict(body), timeout=seconds
        )
        proposal = content.get("proposal") if status == HTTPStatus.ACCEPTED else None
        return OrderAnswer(content, proposal)

    async def _request(
        self, service: ServiceName, method: str, path: str, **options: Any
    ) -> tuple[int, Mapping[str, Any]]:
        """
        :raises TokenRefused: when the token opens nothing.
        :raises ServiceRefused: when the service refuses.
        :raises ServiceUnavailable: when it does not answer.
        """
        client = self._clients.get(service)
        if client is None:
            raise ServiceRefused(service, HTTPStatus.NOT_FOUND, f"No {service.shown} is deployed.")
        try:
            answer = await client.request(method, path, headers=self._headers, **options)
            content = (
                {"error": UNKNOWN_ROUTE}
                if _is_unknown_route(answer)
                else orjson.loads(answer.content)
            )
        except (httpx.HTTPError, orjson.JSONDecodeError) as error:
            observe.service_unavailable(service.value, path, error)
            raise ServiceUnavailable(service) from error
        if answer.status_code == HTTPStatus.UNAUTHORIZED:
            raise TokenRefused
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR or not isinstance(content, dict):
            raise ServiceUnavailable(service)
        if answer.is_error:
            raise ServiceRefused(service, answer.status_code, _error_text(content))
        return answer.status_code, content


def _is_unknown_route(answer: httpx.Response) -> bool:
    """Whether a service of another release has no such route: its answer is no JSON."""
    is_json = "json" in answer.headers.get("content-type", "")
    return answer.status_code == HTTPStatus.NOT_FOUND and not is_json


def _error_text(content: Mapping[str, Any]) -> str:
    error = content.get("error", "it says no more")
    if isinstance(error, dict):
        error = error.get("message", "it says no more")
    return str(error)[:ERROR_TEXT_MAX]
