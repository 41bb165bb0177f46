"""Parts without a server: emails, passwords, redirect addresses, searches."""

from __future__ import annotations

from datetime import timedelta

import pytest

from swap_dashboard.domain.accounts import AccountRefused, check_password, to_email
from swap_dashboard.domain.paths import own_path
from swap_dashboard.domain.search import SearchKind, classify
from swap_dashboard.http.cookies import form_token, is_form_token
from swap_dashboard.http.rendering import age, amount, cut, duration


class TestEmails:
    def test_are_trimmed_and_lowercased(self) -> None:
        assert to_email(" Ada@Shop.Example ") == "ada@shop.example"

    @pytest.mark.parametrize("text", ["", "ada", "a@b c", "a@@b", "a\n@b", "x" * 65 + "@b"])
    def test_that_are_invalid_are_refused(self, text: str) -> None:
        with pytest.raises(AccountRefused):
            to_email(text)


def is_refused(password: str, email: str) -> bool:
    try:
        check_password(password, email)
    except AccountRefused:
        return True
    return False


class TestPasswords:
    @pytest.mark.parametrize("text", ["short", "x" * 257, "aaaaaaaaaaaaaa", "Adam-adam-12"])
    def test_that_are_weak_or_too_long_are_refused(self, text: str) -> None:
        assert is_refused(text, "adam@shop.example")

    @pytest.mark.parametrize("email", ["adam@shop.example", "a@shop.example", "bat@shop.example"])
    def test_of_several_words_are_accepted(self, email: str) -> None:
        assert not is_refused("correct horse battery", email)


class TestPaths:
    @pytest.mark.parametrize(
        "text",
        [
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            "evil.example",
            "",
        ],
    )
    def test_to_another_site_are_replaced_by_home(self, text: str) -> None:
        assert own_path(text) == "/"

    def test_of_this_site_are_unchanged(self) -> None:
        assert own_path("/apps/1/swaps?q=//x") == "/apps/1/swaps?q=//x"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0x" + "aB" * 32, SearchKind.TRANSACTION),
        ("0x" + "aB" * 20, SearchKind.ADDRESS),
        ("6F9619FF-8B86-D011-B42D-00C04FC964FF", SearchKind.SWAP),
        ("6f9619ff8b86d011b42d00c04fc964ff", SearchKind.REFERENCE),
        ("order-1", SearchKind.REFERENCE),
        ("0x12", SearchKind.REFERENCE),
    ],
)
def test_a_search_is_classified(text: str, kind: SearchKind) -> None:
    assert classify(text) is kind


class TestFormTokens:
    def test_match_only_the_secret_they_were_made_from(self) -> None:
        assert is_form_token("secret", form_token("secret"))
        assert not is_form_token("another", form_token("secret"))

    def test_of_an_empty_secret_never_match(self) -> None:
        assert not is_form_token("", form_token(""))


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (1.0, "1"),
            (1234567.5, "1,234,567.5"),
            (0.00001, "0.00001"),
            (1e-12, "1.00e-12"),
            (0, "0"),
            (-2.5, "-2.5"),
        ],
    )
    def test_have_no_zeros_at_the_end(self, value: float, text: str) -> None:
        assert amount(value) == text

    def test_that_are_missing_are_shown_as_a_dash(self) -> None:
        assert amount(None) == "\N{EN DASH}"

    def test_long_ids_keep_both_ends(self) -> None:
        assert cut("0x" + "ab" * 32) == "0xababab…ababab"
        assert cut("short") == "short"

    def test_spans_are_in_units(self) -> None:
        assert duration(timedelta(seconds=1.26)) == "1.3 s"
        assert duration(timedelta(hours=2, seconds=5)) == "2 h 5 s"
        assert age(timedelta(minutes=5)) == "5 min ago"
        assert age(timedelta(minutes=-5)) == "in 5 min"
