from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from swap_sdk.webhooks import NotGenuine, verify

SECRET, OTHER = (f"whsec_{b64encode(bytes([n]) * 32).decode()}" for n in (1, 2))
BODY = json.dumps(
    {"swap": {"id": "s-1", "status": "completed", "metadata": {"sequence": 7}}, "quote": {}}
).encode()


def headers(family: str = "webhook", secret: str = SECRET, minutes: int = 0) -> dict[str, str]:
    at = datetime.now(UTC) + timedelta(minutes=minutes)
    return {
        f"{family}-id": "msg_1",
        f"{family}-timestamp": str(int(at.timestamp())),
        f"{family}-signature": Webhook(secret).sign("msg_1", at, BODY.decode()),
        "webhook-event-type": "swap.completed",
    }


class TestVerify:
    @pytest.mark.parametrize("family", ["webhook", "svix", "Webhook"])
    def test_reads_what_is_genuine(self, family: str) -> None:
        event = verify(BODY, headers(family), SECRET)

        assert (event.id, event.type, event.swap_id, event.sequence) == (
            "msg_1",
            "swap.completed",
            "s-1",
            7,
        )

    def test_takes_either_secret_during_a_rotation(self) -> None:
        assert verify(BODY, headers(secret=OTHER), [SECRET, OTHER]).swap_id == "s-1"

    @pytest.mark.parametrize(
        ("body", "sent"),
        [
            pytest.param(BODY + b" ", headers(), id="other bytes"),
            pytest.param(BODY, headers(secret=OTHER), id="another secret"),
            pytest.param(BODY, headers(minutes=-10), id="old"),
            pytest.param(BODY, headers(minutes=600), id="not yet"),
            pytest.param(BODY, {}, id="unsigned"),
            pytest.param(BODY, {**headers(), "webhook-signature": "nonsense"}, id="no signature"),
            pytest.param(BODY, {**headers(), "webhook-signature": "v1,%%%"}, id="no base64"),
        ],
    )
    def test_refuses_what_is_not(self, body: bytes, sent: dict[str, str]) -> None:
        with pytest.raises(NotGenuine):
            verify(body, sent, SECRET)

    def test_has_no_swap_without_one(self) -> None:
        named = {**headers(), "webhook-event-type": "endpoint.disabled"}

        event = verify(BODY, named, SECRET)

        assert not event.is_about_swap
