"""Languages, stages, codes and the policy of the pay page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

import swap_dashboard
from swap_contracts.public.change_causes import ChangeCause
from swap_contracts.public.errors import FailReason
from swap_dashboard.http.pay import localize, policy, repriced_text
from swap_dashboard.http.pay_texts import choose_language, texts
from swap_dashboard.http.pay_view import (
    action_kind,
    end_words,
    explorer_link,
    has_payout,
    is_refund_shown,
    payment_uri,
    qr_code,
    refund_words,
    stages,
    waiting_text,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HASH = "0x" + "5f" * 32


def names(value: Any, before: str = "") -> set[str]:
    """Return the names of all texts, at every depth."""
    if not isinstance(value, Mapping):
        assert isinstance(value, str)
        assert value.strip(), before
        return {before}
    return {found for key, one in value.items() for found in names(one, f"{before}.{key}")}


def a_swap(**changes: Any) -> dict[str, Any]:
    return {
        "status": "user_transfer_pending",
        "transactions": [],
        "next_action": None,
        "expires_at": (NOW + timedelta(minutes=1)).isoformat(),
        **changes,
    }


def an_action(kind: str | None, *, step: str = "deposit") -> dict[str, Any]:
    action = None if kind is None else {"type": kind}
    return {"status": "action_required", "step": step, "action": action}


def a_transaction(kind: str, status: str = "completed", amount: float = 1.0) -> dict[str, Any]:
    return {"type": kind, "status": status, "amount": amount}


def states(swap: dict[str, Any]) -> list[str]:
    return [stage["state"] for stage in stages(swap)]


class TestLanguages:
    def test_have_the_same_texts(self) -> None:
        assert len(texts()) == 2
        assert len({frozenset(names(one)) for one in texts().values()}) == 1

    def test_have_a_text_for_every_reason_of_a_failure(self) -> None:
        for one in texts().values():
            assert set(one["fail_reasons"]) == {reason.value for reason in FailReason}

    def test_have_a_text_for_every_cause_of_a_change(self) -> None:
        for one in texts().values():
            assert list(one["causes"]) == list(get_args(ChangeCause))

    @pytest.mark.parametrize("page", ["pay.html", "pay_base.html", "pay_error.html"])
    def test_hold_every_text_of_the_templates(self, page: str) -> None:
        template = Path(swap_dashboard.__file__).with_name("pages") / page
        expressions = re.compile(r"{%.*?%}|{{.*?}}", re.DOTALL)
        shown = expressions.sub("", template.read_text()).replace("· Swap", "")  # the brand

        assert re.findall(r">[^<]*[A-Za-z][^<]*<", shown) == []
        assert re.findall(r'(?:aria-label|title|alt|placeholder)="[^"]*[A-Za-z]', shown) == []

    @pytest.mark.parametrize(
        ("requested", "accepted", "chosen"),
        [
            ("", "", "en"),
            ("de", "en", "de"),
            ("", "de-AT,en;q=0.5", "de"),
            ("", "en;q=0.5, de;q=0.8", "de"),
            ("", "fr, it;q=0.3", "en"),
            ("../secret", "", "en"),
            ("", "de;q=none, en;q=0.1", "en"),
            ("", "," * 1000, "en"),
        ],
    )
    def test_are_chosen_by_url_then_by_browser(
        self, requested: str, accepted: str, chosen: str
    ) -> None:
        assert choose_language(requested, accepted) == chosen

    def test_have_separate_number_formats(self) -> None:
        assert localize("1,234.5", texts()["en"]) == "1,234.5"
        assert localize("1,234.5", texts()["de"]) == "1.234,5"


class TestActions:
    @pytest.mark.parametrize(
        ("step", "kind"),
        [
            (an_action("manual_transfer"), "address"),
            (an_action("transfer"), "wallet"),
            (an_action("approve", step="approve"), "wallet"),
            (an_action("sign", step="sign"), "wallet"),
            (an_action(None, step="sign"), "wallet"),
            (an_action("publish"), "waits"),
            (None, "waits"),
            ({"status": "in_progress", "step": "publish", "action": None}, "waits"),
        ],
    )
    def test_are_by_address_by_wallet_or_waiting(self, step: Any, kind: str) -> None:
        assert action_kind(a_swap(next_action=step), NOW) == kind

    @pytest.mark.parametrize("status", ["completed", "failed", "expired", "refunded"])
    def test_are_none_after_the_end_of_the_swap(self, status: str) -> None:
        ended = a_swap(status=status, next_action=an_action("transfer"))

        assert action_kind(ended, NOW) == "none"

    @pytest.mark.parametrize("kind", ["manual_transfer", "transfer", "sign"])
    def test_are_not_offered_after_the_deadline(self, kind: str) -> None:
        late = a_swap(next_action=an_action(kind), expires_at=NOW.isoformat())

        assert action_kind(late, NOW) == "waits"
        assert action_kind(late, NOW - timedelta(minutes=1)) != "waits"
        assert payment_uri(late, NOW) is None


class TestStages:
    def test_advance_with_the_swap(self) -> None:
        waiting = a_swap()
        seen = a_swap(transactions=[a_transaction("input", "initiated")])
        final = a_swap(status="ls_transfer_pending", transactions=[a_transaction("input")])
        done = a_swap(status="completed", transactions=[a_transaction("output")])

        assert states(waiting) == ["now", "ahead", "ahead", "ahead"]
        assert states(seen) == ["done", "now", "ahead", "ahead"]
        assert states(final) == ["done", "done", "now", "ahead"]
        assert states(done) == ["done"] * 4

    def test_stop_where_a_swap_fails(self) -> None:
        refunding = a_swap(status="pending_refund", transactions=[a_transaction("input")])

        assert states(refunding) == ["done", "done", "stopped", "ahead"]
        assert states(a_swap(status="expired")) == ["stopped", "ahead", "ahead", "ahead"]


class TestWaitingTexts:
    @pytest.mark.parametrize(
        ("status", "transactions", "text"),
        [
            ("user_transfer_pending", [], "user_transfer_pending"),
            ("user_transfer_pending", [a_transaction("input", "initiated")], "confirming"),
            ("user_transfer_pending", [a_transaction("input", "initiated", 0.4)], "part"),
            ("user_transfer_pending", [a_transaction("input")], "user_transfer_pending"),
            ("ls_transfer_pending", [], "ls_transfer_pending"),
            ("ls_transfer_pending", [a_transaction("input", "initiated")], "ls_transfer_pending"),
            ("ls_transfer_pending", [a_transaction("input")], "payout_prepared"),
            ("ls_transfer_pending", [a_transaction("output", "pending")], "payout_prepared"),
            ("ls_transfer_pending", [a_transaction("output", "initiated")], "payout_sent"),
            ("pending_refund", [a_transaction("input")], "pending_refund"),
        ],
    )
    def test_depend_on_the_transactions_within_a_status(
        self, status: str, transactions: Any, text: str
    ) -> None:
        swap = a_swap(status=status, transactions=transactions, requested_amount=1.0)

        assert waiting_text(swap, NOW) == text
        assert text in texts()["en"]["waits"]

    def test_ask_for_no_rest_of_a_partial_deposit_after_the_deadline(self) -> None:
        part = [a_transaction("input", amount=0.4)]
        late = a_swap(transactions=part, requested_amount=1.0, expires_at=NOW.isoformat())

        assert waiting_text(late, NOW - timedelta(minutes=1)) == "part"
        assert waiting_text(late, NOW) == "part_late"
        assert "do not send the rest" in texts()["en"]["waits"]["part_late"]


class TestRefundAddresses:
    @pytest.mark.parametrize(
        ("status", "address", "is_shown"),
        [
            ("completed", "0x7", False),
            ("completed", None, False),
            ("expired", "0x7", True),
            ("expired", None, False),
            ("refunded", "0x7", True),
            ("failed", None, True),
        ],
    )
    def test_are_shown_while_a_refund_is_possible(
        self, status: str, address: str | None, *, is_shown: bool
    ) -> None:
        assert is_refund_shown(a_swap(status=status, refund_address=address), "none") is is_shown

    def test_have_the_text_of_expired_swaps_after_the_deadline(self) -> None:
        late = a_swap(expires_at=NOW.isoformat())

        assert refund_words(late, NOW) == "expired"
        assert refund_words(late, NOW - timedelta(minutes=1)) == "user_transfer_pending"
        assert refund_words(a_swap(status="refunded"), NOW) == "refunded"


class TestEnds:
    def test_tell_a_late_payment_from_none(self) -> None:
        late = a_swap(status="expired", refund_address=None, transactions=[a_transaction("input")])
        unpaid = a_swap(status="expired", refund_address=None)

        assert (end_words(late), end_words(unpaid)) == ("paid_late", "expired")
        assert end_words({**late, "status": "refunded"}) == "refunded"
        assert is_refund_shown(late, "none")


class TestNewPrices:
    def a_swap(self, first: float | None, **changes: Any) -> dict[str, Any]:
        values = {
            "status": "ls_transfer_pending",
            "requested_amount": 0.4,
            "first_requested_amount": first,
            "source_token": {"symbol": "ETH", "precision": 8},
            "transactions": [a_transaction("input", amount=0.4)],
        }
        return a_swap(**{**values, **changes})

    @pytest.mark.parametrize(
        ("language", "text"),
        [
            ("en", "0.4 ETH of 1.2 ETH arrived (≈ 33.3 %): a new price applies."),
            ("de", "0,4 ETH von 1,2 ETH kamen an (≈ 33,3 %): es gilt ein neuer Preis."),
        ],
    )
    def test_name_the_deposited_share(self, language: str, text: str) -> None:
        assert repriced_text(texts()[language], self.a_swap(1.2)) == text

    def test_name_a_late_payment(self) -> None:
        assert repriced_text(texts()["en"], self.a_swap(0.4)) == texts()["en"]["repriced_late"]

    @pytest.mark.parametrize(
        ("requested", "deposited"),
        [(0.99, 1.0), (1.5, 1.5)],  # without a refuel that could not be bought; more than asked
    )
    def test_have_no_share_of_a_whole_deposit(self, requested: float, deposited: float) -> None:
        paid = [a_transaction("input", amount=deposited)]
        swap = self.a_swap(1.0, requested_amount=requested, transactions=paid)

        assert repriced_text(texts()["en"], swap) == texts()["en"]["repriced_other"]

    @pytest.mark.parametrize(
        ("status", "is_shown"),
        [
            ("completed", True),
            ("pending_refund", False),
            ("refunded", False),
            ("failed", False),
            ("expired", False),
        ],
    )
    def test_are_shown_only_while_a_price_applies(self, status: str, *, is_shown: bool) -> None:
        text = repriced_text(texts()["en"], self.a_swap(1.2, status=status))

        assert (text is not None) is is_shown

    @pytest.mark.parametrize("first", [None, 0.0])
    def test_are_none_while_the_first_quote_holds(self, first: float | None) -> None:
        assert repriced_text(texts()["en"], self.a_swap(first)) is None
        assert repriced_text(texts()["en"], {"requested_amount": 1.0}) is None


class TestExplorerLinks:
    @pytest.mark.parametrize(
        ("template", "link"),
        [
            ("https://explorer.shop.dev/tx/{0}", f"https://explorer.shop.dev/tx/{HASH}"),
            ("https://base-devnet.explorer.example/tx/{0}", None),
            ("", None),
            ("javascript:alert({0})", None),
        ],
    )
    def test_lead_to_the_web_only(self, template: str, link: str | None) -> None:
        network = {"transaction_explorer_template": template}

        assert explorer_link({"network": network, "transaction_hash": HASH}) == link


def test_qr_code_contains_no_text() -> None:
    code = qr_code("<script>alert(1)</script>")

    assert code.startswith("<svg")
    assert "script" not in code
    assert "style" not in code


class TestFrames:
    def test_are_refused_without_allowed_origins(self) -> None:
        headers = policy(())

        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("status", "sent", "is_paid"),
    [
        ("user_transfer_pending", (), True),
        ("completed", ("output",), True),
        ("failed", ("output",), True),  # it may arrive yet
        ("failed", ("input",), False),
        ("pending_refund", ("input",), False),
        ("refunded", ("input", "refund"), False),
        ("expired", (), False),
    ],
)
def test_a_payout_is_promised_while_it_may_arrive(
    status: str, sent: tuple[str, ...], *, is_paid: bool
) -> None:
    swap = a_swap(status=status, transactions=[a_transaction(kind) for kind in sent])

    assert has_payout(swap) is is_paid
