"""Stored parts of a response: bounded, text only, without misleading characters."""

from __future__ import annotations

import pytest

from swap_notifier.domain.responses import (
    BODY_BYTES_MAX,
    HEADER_VALUE_MAX,
    HEADERS_MAX,
    StoredResponse,
    safe_text,
    to_stored_response,
)


def stored(body: bytes, *headers: tuple[str, str], is_cut: bool = False) -> StoredResponse:
    return to_stored_response(headers, body, is_cut=is_cut)


class TestBody:
    def test_is_stored_as_it_is(self) -> None:
        assert stored('{"ok": "grün <script>"}'.encode()).body == '{"ok": "grün <script>"}'

    @pytest.mark.parametrize(
        ("sent", "shown"),
        [
            (b"one\r\ntwo\tthree", "one\ntwo\tthree"),
            (b"it is all \x00 and \x1b[31m now", "it is all \ufffd and \ufffd[31m now"),
            ("a long text, \u202e reversed".encode(), "a long text, \ufffd reversed"),
            (b"a text that is almost \xff UTF-8", "a text that is almost \ufffd UTF-8"),
        ],
    )
    def test_has_no_character_that_misleads(self, sent: bytes, shown: str) -> None:
        assert stored(sent).body == shown

    @pytest.mark.parametrize("body", [b"\x89PNG\r\n\x1a\n\x00\x00\x00", bytes(range(256))])
    def test_that_is_no_text_is_not_stored(self, body: bytes) -> None:
        assert stored(body).body is None

    def test_that_is_compressed_is_not_stored(self) -> None:
        assert stored(b"text", ("Content-Encoding", "gzip")).body is None

    def test_is_cut_between_two_characters(self) -> None:
        found = stored(("x" * (BODY_BYTES_MAX - 1) + "ü").encode())

        assert found.body == "x" * (BODY_BYTES_MAX - 1)
        assert found.is_cut

    def test_that_was_not_read_to_its_end_is_cut(self) -> None:
        assert stored(b"begin", is_cut=True).is_cut
        assert not stored(b"whole").is_cut


class TestHeaders:
    def test_are_bounded(self) -> None:
        found = stored(b"", *((f"x-{number}", "v" * 5000) for number in range(100)))

        assert len(found.headers) == HEADERS_MAX
        assert {len(value) for value in found.headers.values()} == {HEADER_VALUE_MAX}

    def test_have_no_session_of_the_receiver(self) -> None:
        found = stored(b"", ("Set-Cookie", "session=secret"), ("X-Request-Id", "7"))

        assert found.headers == {"x-request-id": "7"}

    def test_have_no_byte_that_is_no_text(self) -> None:
        assert stored(b"", ("x", "a\udcffb")).headers == {"x": "a\ufffdb"}


def test_a_mark_stands_for_what_is_unsafe() -> None:
    assert safe_text("a\u200bb\u2066c\n") == "a\ufffdb\ufffdc\n"
