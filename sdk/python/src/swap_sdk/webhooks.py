"""Verifies webhooks of the service.

    event = verify(raw_body, headers, secret)

`raw_body` must be the bytes as received: they are parsed here, after the signature is verified.
During a rotation give both secrets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from svix.webhooks import Webhook

from swap_sdk.models import WebhookPayload

TEST: Final = "webhook.test"
ENDPOINT_DISABLED: Final = "endpoint.disabled"


class NotGenuine(Exception):
    """The signature is not the service's, the body was changed, or the time is five minutes off."""


@dataclass(frozen=True, slots=True)
class Event:
    """One genuine message. It may arrive again, and after the one that follows it."""

    id: str  # the same in every attempt, for deduplication
    type: str  # `swap.<status>`, `swap.updated`, `webhook.test` or `endpoint.disabled`
    content: Mapping[str, Any]

    @property
    def is_about_swap(self) -> bool:
        return self.type.startswith("swap.")

    @property
    def payload(self) -> WebhookPayload:
        """
        :raises ValueError: when the event is not about a swap.
        """
        if "swap" not in self.content:
            raise ValueError(f"{self.type} is not about a swap")
        return cast(WebhookPayload, self.content)

    @property
    def swap_id(self) -> str:
        return self.payload["swap"]["id"]

    @property
    def sequence(self) -> int:
        """Return the swap's event number: the highest is the newest, in any order of arrival."""
        return self.payload["swap"]["metadata"]["sequence"]


def verify(body: bytes, headers: Mapping[str, str], secrets: str | Sequence[str]) -> Event:
    """Return the event, if one of the secrets signed it in the last five minutes.

    :raises NotGenuine: if none did.
    """
    lowercased = {name.lower(): value for name, value in headers.items()}
    tried = [secrets] if isinstance(secrets, str) else secrets
    if not any(_is_signed(body, lowercased, secret) for secret in tried):
        raise NotGenuine("the signature is not one of the secret's, or it is too old")
    identity = lowercased.get("webhook-id") or lowercased["svix-id"]
    return Event(identity, lowercased.get("webhook-event-type", ""), json.loads(body))


def _is_signed(body: bytes, headers: Mapping[str, str], secret: str) -> bool:
    try:
        Webhook(secret).verify(body, dict(headers))
    except Exception:  # a malformed signature raises more than one kind of error
        return False
    return True
