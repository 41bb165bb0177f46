"""The operator's side of a development stack: keys and webhook endpoints made for the suite.

A deployment that is no such stack gives them by hand; see the README.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx

from tests.conformance.settings import Settings


class Operator:
    def __init__(self, stack: Mapping[str, Any]) -> None:
        self._urls = {row["name"]: row["internal_url"] for row in stack["services"]}
        self._headers = {"Authorization": f"Bearer {stack['operator']['token']}"}
        self._app_id = stack["partners"][0]["app_id"]

    @classmethod
    def of(cls, settings: Settings) -> Operator | None:
        return cls(settings.stack) if settings.stack.get("operator") else None

    def with_keys(self, settings: Settings) -> Settings:
        """Return the settings with keys of the kinds that nobody has given."""
        made: dict[str, str] = {}
        if "publishable" not in settings.keys:
            made["publishable"] = self._key(self._app_id, kind="publishable")
        if "limited" not in settings.keys:
            made["limited"] = self._key(self._limited_app(), kind="secret")
        return replace(settings, keys={**settings.keys, **made})

    def add_endpoint(self, url: str) -> tuple[str, str]:
        """Return the id and the secret of a new webhook endpoint of the partner's."""
        body = {"app_id": self._app_id, "url": url, "wants_updates": True}
        made = self._post("notifier", "/endpoints", body)
        return str(made["id"]), str(made["secret"])

    def endpoint(self, url: str) -> str:
        """Return the id of the partner's endpoint that leads there."""
        asked = f"{self._urls['notifier']}/admin/endpoints"
        query = {"app_id": self._app_id}
        told = _told(httpx.get(asked, params=query, headers=self._headers))["endpoints"]
        return str(next(row["id"] for row in told if row["url"] == url))

    def disable_endpoint(self, endpoint_id: str) -> None:
        self._post("notifier", f"/endpoints/{endpoint_id}/disable", {})

    def at_endpoint(self, endpoint_id: str, verb: str, body: Mapping[str, Any]) -> Any:
        """Rotate a secret, send a test event, or replay since a time."""
        return self._post("notifier", f"/endpoints/{endpoint_id}/{verb}", body)

    def replay(self, message_id: str) -> None:
        self._post("notifier", f"/messages/{message_id}/replay", {})

    def log(self, message_id: str) -> Any:
        url = f"{self._urls['notifier']}/admin/messages/{message_id}"
        return _told(httpx.get(url, headers=self._headers))["log"]

    def _limited_app(self) -> str:
        organization = self._manage("/organizations", {"name": "conformance"})
        app = {"name": "limited", "environment": "test"}
        app_id = str(self._manage(f"/organizations/{organization['id']}/apps", app)["id"])
        limits = {"reads_per_minute": 1, "ceiling_factor": 1, "pending_swaps_max": 1}
        self._manage(f"/apps/{app_id}/limits", limits)
        return app_id

    def _limited_app(self) -> str:
        """Return an app of another organization, which may do next to nothing."""
        owner = self._manage("/organizations", {"name": "conformance"})["id"]
        told = {"name": "limited", "environment": "test"}
        app_id = str(self._manage(f"/organizations/{owner}/apps", told)["id"])
        limits = {"reads_per_minute": 1, "ceiling_factor": 1, "pending_swaps_max": 1}
        self._manage(f"/apps/{app_id}/limits", limits)
        return app_id

    def _key(self, app_id: str, *, kind: str) -> str:
        return str(self._manage(f"/apps/{app_id}/keys", {"kind": kind})["key"])

    def _manage(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._post("api", f"/management/v1{path}", body)["data"]

    def _post(self, service: str, path: str, body: Mapping[str, Any]) -> Any:
        url = f"{self._urls[service]}/admin{path}"
        return _told(httpx.post(url, json=dict(body), headers=self._headers))


def _told(response: httpx.Response) -> Any:
    response.raise_for_status()
    return response.json()
