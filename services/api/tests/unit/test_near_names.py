"""Names that are at most two edits from a known one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swap_api.http.near_names import is_within, nearest

KNOWN = ("statuses", "use_depository", "use_deposit_address", "amount")


class TestNearest:
    @pytest.mark.parametrize(
        ("name", "known"),
        [
            ("status", "statuses"),
            ("use_depositary", "use_depository"),
            ("useDepository", "use_depository"),
            ("amuont", "amount"),
            ("amount_", "amount"),
            ("mount", "amount"),
            ("Amount", "amount"),
        ],
    )
    def test_is_the_name_within_two_edits(self, name: str, known: str) -> None:
        assert nearest(name, KNOWN) == known

    @pytest.mark.parametrize("name", ["stat", "useDepositAddress", "AMOUNT", "colour"])
    def test_is_none_beyond_two_edits(self, name: str) -> None:
        assert nearest(name, KNOWN) is None

    def test_is_the_one_with_the_fewest_edits(self) -> None:
        assert nearest("networkz", ["network", "networks"]) == "network"
        assert nearest("pages", ["place", "page"]) == "page"


class TestIsWithin:
    @given(st.text("ab", max_size=8), st.text("ab", max_size=8), st.integers(0, 2))
    def test_is_the_levenshtein_distance(self, one: str, other: str, edits: int) -> None:
        rows = [list(range(len(other) + 1))]
        for n, letter in enumerate(one, 1):
            row = [n]
            for m, its in enumerate(other):
                row.append(min(rows[-1][m + 1] + 1, row[m] + 1, rows[-1][m] + (letter != its)))
            rows.append(row)

        assert is_within(edits, one, other) == (rows[-1][-1] <= edits)
