"""The parts of a body in the log of requests: declared members, and no secret."""

from __future__ import annotations

import json

import pytest

from swap_api.request_log.decide.redaction import BODY_MAX, OTHERS, REDACTED, redact

DECLARED = frozenset({"amount", "reference_id", "transaction_id", "signature", "use_gasless"})
HASH = "0x" + "5f" * 32


def shown(**members: object) -> object:
    text, _ = redact(json.dumps(members).encode(), DECLARED)
    return json.loads(text or "null")


class TestRedact:
    def test_keeps_declared_members_as_they_were_sent(self) -> None:
        members = {"amount": 25.5, "reference_id": "order-7", "use_gasless": True}

        assert shown(**members, transaction_id=HASH) == {**members, "transaction_id": HASH}

    def test_keeps_not_even_the_names_of_others(self) -> None:
        assert shown(amount=1, svc_live_5f="x", password="p") == {"amount": 1, OTHERS: 2}

    @pytest.mark.parametrize(
        "secret",
        [
            "svc_live_" + "5f" * 32,
            "svc_test_pub_" + "5f" * 32,
            "my token is svc_user_5f",
            "svc_invite_5f",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "Bearer abc",
            "5f" * 32,
            "0x" + "11" * 65,
        ],
    )
    def test_keeps_no_secret_in_a_declared_member(self, secret: str) -> None:
        assert shown(reference_id=secret) == {"reference_id": REDACTED}

    @pytest.mark.parametrize("value", ["0x11", ["0x11"], {"r": "0x11"}])
    def test_keeps_no_signature(self, value: object) -> None:
        assert shown(signature=value) == {"signature": REDACTED}

    @pytest.mark.parametrize("value", ["0x" + "11" * 65, f"{HASH} svc_live_5f"])
    def test_takes_only_a_hash_for_a_transaction(self, value: str) -> None:
        assert shown(transaction_id=value) == {"transaction_id": REDACTED}

    @pytest.mark.parametrize(
        "body", [b"", b"svc_live_5f", b"[1]", b'"x"', b"[" * 3000, b"1" * 4096]
    )
    def test_omits_a_body_that_is_no_object(self, body: bytes) -> None:
        assert redact(body, DECLARED) == (None, False)

    def test_omits_a_long_body(self) -> None:
        assert redact(b'{"amount": 1}' + b" " * BODY_MAX, DECLARED) == (None, True)

    def test_stores_only_what_postgres_takes(self) -> None:
        assert shown(reference_id="a\0b\ud800") == {"reference_id": "ab?"}
