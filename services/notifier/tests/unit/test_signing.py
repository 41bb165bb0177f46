from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
import standardwebhooks
import svix.webhooks

from services.notifier.tests.factories import OLD_SECRET, SECRET
from swap_notifier.adapters.signing import signed_headers

CONTENT = {"swap": {"id": "ü"}}
BODY = '{"swap":{"id":"ü"}}'.encode()


def headers(*secrets: str, at: datetime | None = None) -> dict[str, str]:
    return signed_headers("msg_1", BODY, secrets, at=at or datetime.now(UTC))


class TestSignedHeaders:
    def test_are_verified_by_two_libraries(self) -> None:
        signed = headers(SECRET)

        svix.webhooks.Webhook(SECRET).verify(BODY, signed)  # returns nothing, raises otherwise
        assert standardwebhooks.Webhook(SECRET).verify(BODY, signed) == CONTENT

    @pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
    def test_carry_both_signatures_during_a_rotation(self, secret: str) -> None:
        signed = headers(SECRET, OLD_SECRET)

        assert standardwebhooks.Webhook(secret).verify(BODY, signed) == CONTENT

    def test_have_the_same_values_under_both_names(self) -> None:
        signed = headers(SECRET)

        for part in ("id", "timestamp", "signature"):
            assert signed[f"svix-{part}"] == signed[f"webhook-{part}"]

    def test_are_about_the_moment_and_not_its_zone(self) -> None:
        elsewhere = datetime.now(timezone(timedelta(hours=9)))

        signed = headers(SECRET, at=elsewhere)

        assert standardwebhooks.Webhook(SECRET).verify(BODY, signed) == CONTENT

    @pytest.mark.fault("N10")
    def test_n10_refuse_other_bytes(self) -> None:
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            standardwebhooks.Webhook(SECRET).verify(BODY + b" ", headers(SECRET))
