"""Asks a service's internal port, as an operator."""

from __future__ import annotations

from typing import Any, Final

import httpx

from swapctl.places import Places, ServiceName

TIMEOUT_SECONDS: Final = 10


class Failed(Exception):
    """A service said no, or did not answer."""


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
        try:
            answer = self._client.request(method, f"/admin{path}", **rest)
        except httpx.HTTPError as error:
            raise Failed(f"{self._service}: {type(error).__name__}: {error}") from error
        if answer.is_success:
            return answer.json() if answer.content else {}
        raise Failed(f"{self._service} answered {answer.status_code}: {_words(answer)}")


def _words(answer: httpx.Response) -> str:
    try:
        told = answer.json()
    except ValueError:
        return answer.text[:300]
    error = told.get("error", told) if isinstance(told, dict) else told
    return str(error.get("message", error) if isinstance(error, dict) else error)
