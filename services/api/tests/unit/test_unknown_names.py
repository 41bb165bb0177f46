"""The header that lists ignored names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swap_api.http.unknown_names import IGNORED_BYTES_MAX, join_names


class TestListed:
    def test_lists_every_name_once(self) -> None:
        assert join_names(["colour", "version", "colour"]) == "colour, version"

    def test_encodes_what_is_not_printable_ascii(self) -> None:
        assert join_names(["a,b", "naïve\r\n", '"']) == "a%2Cb, na%C3%AFve%0D%0A, %22"

    def test_ends_with_dots_where_names_do_not_fit(self) -> None:
        assert join_names(["x" * 600]) == "..."
        assert join_names(["x" * 500, "y" * 500]) == f"{'x' * 500}, ..."

    @given(st.lists(st.text(max_size=200), max_size=20))
    def test_is_a_header_value(self, names: list[str]) -> None:
        header = join_names(names)

        assert header.isascii()
        assert not header or header.isprintable()
        assert len(header) <= IGNORED_BYTES_MAX
