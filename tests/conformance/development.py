"""The operator's side of a deployment: keys, webhook endpoints, stops and blocked addresses.

A stack.json configures it. A deployment without one may be given its internal ports and the
operator's token, or only the keys. See the README.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx

from tests.conformance.settings import OperatorAccess, Settings
from tests.conformance.signing import RequirementMissing

WHO: Final = {"by": "conformance", "reason": "the conformance suite tries it for a moment"}
# The deposit window of the brief app's swaps: long enough for a read before expiry.
BRIEF_SECONDS: Final = 6
LAPSES_AFTER: Final = timedelta(seconds=1)
SMALL: Final = {"reads_per_minute": 1, "ceiling_factor": 1, "pending_swaps_max": 1}
NARROW: Final = {"reads_per_minute": 1}  # per client; the app as a whole has more


class Operator:
    def __init__(self, access: OperatorAccess) -> None:
        self._urls = access.urls
        self._headers = {"Authorization": f"Bearer {access.token}"}
        self.app_id = access.app_id

    @classmethod
    def of(cls, settings: Settings) -> Operator | None:
        return None if settings.operator is None else cls(settings.operator)

    # Keys and apps

    def with_keys(self, settings: Settings) -> Settings:
        """Return the settings with keys of the missing kinds."""
        if "api" not in self._urls:
            return settings
        owner = self._manage("/organizations", {"name": "conformance"})["id"]
        made = {
            "publishable": lambda: self._key(self.app_id, kind="publishable"),
            "revoked": self._revoked_key,
            "expired": self._expiring_key,
            "closing": lambda: self._closing_key(settings),
            "limited": lambda: self._key(self._app(owner, limits=SMALL)),
            "narrow": lambda: self._key(self._app(owner, limits=NARROW), kind="publishable"),
            "brief": lambda: self._key(self._app(owner, swap_lifetime_seconds=BRIEF_SECONDS)),
            "foreign": lambda: self._key(self._app(owner, environment=_other(settings))),
        }
        usual = self._app(owner, limits={})
        made["usual"] = lambda: self._key(usual)
        made["usual_publishable"] = lambda: self._key(usual, kind="publishable")
        keys = {kind: make() for kind, make in made.items() if kind not in settings.keys}
        return replace(settings, keys={**keys, **settings.keys})

    def listed_keys(self) -> Any:
        """Return the keys of the app with the secret key, as its owner sees them."""
        return self._get("api", f"/management/v1/apps/{self.app_id}/keys?page_size=100")["data"]

    def _app(self, owner: str, *, limits: Mapping[str, int] | None = None, **more: Any) -> str:
        body = {"name": "conformance", "environment": "test", **more}
        app_id = str(self._manage(f"/organizations/{owner}/apps", body)["id"])
        if limits is None:
            self._manage(f"/apps/{app_id}/limits", {"limits_lifted": True})
        elif limits:
            self._manage(f"/apps/{app_id}/limits", limits)
        return app_id

    def _key(self, app_id: str, *, kind: str = "secret", **more: Any) -> str:
        return str(self._issue_key(app_id, kind=kind, **more)["key"])

    def _issue_key(self, app_id: str, **options: Any) -> Mapping[str, Any]:
        return dict(self._manage(f"/apps/{app_id}/keys", options))

    def _revoked_key(self) -> str:
        issued = self._issue_key(self.app_id, kind="secret", label="conformance")
        self._manage(f"/keys/{issued['id']}/revoke", {})
        return str(issued["key"])

    def _closing_key(self, settings: Settings) -> str:
        """Return a key that was used and then revoked."""
        issued = self._issue_key(self.app_id, kind="secret", label="conformance")
        headers = {settings.key_header: issued["key"]}
        httpx.get(f"{settings.base_url}/api/v2/health", headers=headers).raise_for_status()
        self._manage(f"/keys/{issued['id']}/revoke", {})
        return str(issued["key"])

    def _expiring_key(self) -> str:
        ends = (datetime.now(UTC) + LAPSES_AFTER).isoformat()
        return self._key(self.app_id, expires_at=ends)

    # Payments and their recipients

    @contextmanager
    def stop_payments(self, network: str) -> Iterator[None]:
        """Stop the payments of a network while the block runs."""
        self._post("settler", "/payouts/stop", {"network": network, **WHO})
        try:
            yield
        finally:
            self._post("settler", "/payouts/go", {"network": network, **WHO})

    @contextmanager
    def block_address(self, address: str) -> Iterator[None]:
        """Block an address while the block runs."""
        self._post("settler", "/blocked", {"addresses": [address], **WHO})
        try:
            yield
        finally:
            self._post("settler", "/blocked/lift", {"addresses": [address], **WHO})

    # Webhooks

    def add_endpoint(self, url: str) -> tuple[str, str]:
        """Return the id and the secret of a new webhook endpoint of the partner."""
        body = {"app_id": self.app_id, "url": url, "wants_updates": True}
        made = self._post("notifier", "/endpoints", body)
        return str(made["id"]), str(made["secret"])

    def refuses_endpoint(self, url: str) -> bool:
        """Return whether a webhook endpoint with this URL is refused."""
        body = {"app_id": self.app_id, "url": url}
        answer = self._send("POST", "notifier", "/endpoints", json=body)
        if answer.is_success:
            self.disable_endpoint(answer.json()["id"])
        return answer.status_code == httpx.codes.BAD_REQUEST

    def endpoint(self, url: str) -> str:
        """Return the id of the partner's endpoint with this URL."""
        endpoints = self._get("notifier", f"/endpoints?app_id={self.app_id}")["endpoints"]
        return str(next(row["id"] for row in endpoints if row["url"] == url))

    def is_enabled(self, endpoint_id: str) -> bool:
        return self._get("notifier", f"/endpoints/{endpoint_id}")["disabled_at"] is None

    def disable_endpoint(self, endpoint_id: str) -> None:
        self._post("notifier", f"/endpoints/{endpoint_id}/disable", {})

    def at_endpoint(self, endpoint_id: str, verb: str, body: Mapping[str, Any]) -> Any:
        """Rotate a secret, send a test event, or replay since a time."""
        return self._post("notifier", f"/endpoints/{endpoint_id}/{verb}", body)

    def replay(self, message_id: str) -> None:
        self._post("notifier", f"/messages/{message_id}/replay", {})

    def log(self, message_id: str) -> Any:
        return self._get("notifier", f"/messages/{message_id}")["log"]

    def _manage(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._post("api", f"/management/v1{path}", body)["data"]

    def _post(self, service: str, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("POST", service, path, json=dict(body)).raise_for_status().json()

    def _get(self, service: str, path: str) -> Any:
        return self._send("GET", service, path).raise_for_status().json()

    def _send(self, method: str, service: str, path: str, **options: Any) -> httpx.Response:
        """
        :raises RequirementMissing: where no URL of the service's operator port is configured.
        """
        if service not in self._urls:
            raise RequirementMissing(f"no operator's access to the {service} was given")
        url = f"{self._urls[service]}/admin{path}"
        return httpx.request(method, url, headers=self._headers, **options)


def _other(settings: Settings) -> str:
    """Return the environment that the secret key does not belong to."""
    return "live" if "_test_" in settings.keys["secret"] else "test"
