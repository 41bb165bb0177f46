"""Every fault has a test, or a reason why it cannot occur."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.plugins.fault_rows import ROWS_FILE, Carrier, carriers, rows

SIZES = {"S": 30, "R": 8, "W": 28, "K": 20, "P": 10, "Rr": 4, "N": 17, "A": 20, "G": 20, "M": 15}

# Rows with tests that were added after the code: a guard proves that they can fail.
NEED_A_GUARD = ("W27", "K8", "K11", "K18", *(f"P{n}" for n in (1, 5, 6, 7, 9)))
NEED_A_GUARD += tuple(f"M{n}" for n in (9, 10, 11, 13, 14))


@pytest.fixture(scope="module")
def carried() -> list[Carrier]:
    return list(carriers())


def kind_of(row: str) -> str:
    return row.rstrip("0123456789") if row[-1].isdigit() else f"{row[0]}r"


def test_all_rows_are_listed() -> None:
    assert len(rows()) == 172
    assert Counter(map(kind_of, rows())) == SIZES


def test_every_row_has_a_test_or_a_reason_why_it_cannot_apply(carried: list[Carrier]) -> None:
    shown = {carrier.row for carrier in carried}
    reasons = {name for name, row in rows().items() if row.cannot_apply}

    assert [name for name in rows() if name not in shown | reasons] == []
    assert sorted(shown & reasons) == []


def test_every_marker_names_rows_that_exist_and_is_carried_by_a_test(
    carried: list[Carrier],
) -> None:
    assert [one for one in carried if one.row not in rows()] == [], f"add it to {ROWS_FILE}"
    assert [one for one in carried if one.test is None] == []


@pytest.mark.parametrize("row", NEED_A_GUARD)
def test_a_row_names_the_code_without_which_its_test_fails(row: str) -> None:
    assert rows()[row].guard


class TestCarriers:
    def found(self, root: Path, name: str, text: str) -> list[Carrier]:
        path = root / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return list(carriers(root))

    @pytest.mark.parametrize(
        ("text", "test"),
        [
            pytest.param(
                '@pytest.mark.fault("S1")\nasync def test_one(): ...', "test_one", id="function"
            ),
            pytest.param(
                '@pytest.mark.fault("S1")\nclass TestAll:\n    def test_one(self): ...',
                "TestAll",
                id="class",
            ),
            pytest.param(
                'class TestAll:\n    @pytest.mark.fault("S1")\n    def test_one(self): ...',
                "TestAll.test_one",
                id="method",
            ),
            pytest.param(
                '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.fault("S1"))])\n'
                "def test_one(n): ...",
                "test_one",
                id="case",
            ),
            pytest.param('pytestmark = pytest.mark.fault("S1")', "every test", id="module"),
            pytest.param('@pytest.mark.fault("S1")\ndef helps(): ...', None, id="no test"),
            pytest.param(
                'class Parts:\n    @pytest.mark.fault("S1")\n    def test_one(self): ...',
                None,
                id="not collected",
            ),
        ],
    )
    def test_a_marker_is_found_where_it_stands(
        self, tmp_path: Path, text: str, test: str | None
    ) -> None:
        path = "services/a/tests/test_a.py"

        assert self.found(tmp_path, path, text) == [Carrier("S1", path, test)]

    def test_a_foundry_test_carries_the_row_of_its_name(self, tmp_path: Path) -> None:
        path = "evm/test/rows/A.t.sol"
        text = "function testFuzz_W18_Fee(uint256 n) public {}\nfunction test_Plain() public {}"

        assert self.found(tmp_path, path, text) == [Carrier("W18", path, "testFuzz_W18_Fee")]
