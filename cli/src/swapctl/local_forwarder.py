"""Sends webhook messages to a local URL, signed as the service signs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic_ns
from typing import Any, Final

import httpx
from standardwebhooks import Webhook

TIMEOUT_SECONDS: Final = 15  # the notifier's default `attempt_timeout`
ERROR_LENGTH_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of the local URL."""

    http_status: int | None
    error: str | None
    milliseconds: int

    @property
    def is_success(self) -> bool:
        return self.http_status is not None and 200 <= self.http_status < 300  # noqa: PLR2004


class LocalForwarder:
    def __init__(self, url: str, secret: str, *, clock: Callable[[], datetime]) -> None:
        """
        :param secret: `whsec_…`; it signs every message.
        :raises ValueError: when the secret cannot be read.
        """
        self._url = url
        self._webhook = Webhook(secret)
        self._clock = clock
        # The URL is on this machine; a proxy from the environment cannot reach it.
        self._client = httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False)

    def forward(self, message: Mapping[str, Any]) -> Answer:
        """Post a message once. A redirect counts as a failure."""
        began = monotonic_ns()
        try:
            with self._client.stream(
                "POST",
                self._url,
                content=message["body"].encode(),
                headers=self._headers(message),
            ) as response:  # the body is not read: its size is not bounded
                return Answer(response.status_code, None, _milliseconds(began))
        except httpx.HTTPError as error:
            text = f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]
            return Answer(None, text, _milliseconds(began))

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        # The library treats a time of any zone as UTC.
        now = self._clock().astimezone(UTC)
        identity, timestamp = message["id"], str(int(now.timestamp()))
        signature = self._webhook.sign(identity, now, message["body"])
        signed = {"id": identity, "timestamp": timestamp, "signature": signature}
        return {
            "content-type": "application/json",
            "user-agent": "swapctl-listen",
            "webhook-event-type": message["event_type"],
            # Both families, as the notifier sends them: for Standard Webhooks and for svix.
            **{f"webhook-{name}": value for name, value in signed.items()},
            **{f"svix-{name}": value for name, value in signed.items()},
        }


def _milliseconds(began: int) -> int:
    return (monotonic_ns() - began) // 1_000_000
