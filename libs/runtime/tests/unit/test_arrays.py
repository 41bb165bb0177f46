from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from swap_runtime.postgres.arrays import ARRAYS


class TestArray:
    def test_is_what_array_recv_reads(self) -> None:
        data = ARRAYS["int"].dump([7, None])

        assert data == bytes.fromhex(
            "00000001 00000001 00000017"  # one dimension, maybe with nulls, of int4
            "00000002 00000001"  # two elements, the first of which is number 1
            "00000004 00000007 ffffffff"
        )

    def test_an_empty_one_has_no_dimension(self) -> None:
        assert ARRAYS["text"].dump([]) == bytes.fromhex("00000000 00000000 00000019")

    @pytest.mark.parametrize(
        ("type_", "values"),
        [
            ("int", [2**31]),  # a number that is too large
            ("bigint", [-(2**63) - 1]),
            ("int", [True]),  # no number to Postgres
            ("boolean", [1]),
            ("bigint", ["1"]),
            ("numeric", [1]),  # only what is text already
            ("jsonb", [{}]),
            ("text", ["a", 1]),
            ("bytea", ["a"]),
            ("bytea", [bytearray(b"a")]),
            ("uuid", [str(UUID(int=1))]),
            ("timestamptz", [datetime(2026, 1, 1)]),  # noqa: DTZ001  # one without a zone
            ("timestamptz", [datetime(2026, 1, 1, tzinfo=UTC).date()]),
            ("interval", [1]),
            ("text", [["nested"]]),
            ("text", ("a", "b")),
            ("text", "text"),
            ("text", None),
        ],
    )
    def test_what_holds_anything_else_is_left_to_psycopg(self, type_: str, values: Any) -> None:
        assert ARRAYS[type_].dump(values) is None

    @pytest.mark.parametrize("type_", ARRAYS)
    def test_every_type_has_columns_without_a_value(self, type_: str) -> None:
        assert ARRAYS[type_].dump([None, None]) is not None

    def test_the_last_instants_fit(self) -> None:
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

        assert ARRAYS["timestamptz"].dump([first, last]) is not None
        assert ARRAYS["interval"].dump([timedelta.min, timedelta.max]) is not None
