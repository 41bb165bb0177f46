"""Rows as operators read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

import pytest

from swap_settler.records import place_of, place_values, to_dataclass, to_record, without_place

AT = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
ID = UUID(int=7)


class Row(NamedTuple):
    network: str
    base_units: Decimal | None
    since: datetime
    count: int = 3
    after_at: datetime = AT
    after_id: UUID = ID


@dataclass(frozen=True, slots=True)
class Facts:
    network: str
    base_units: int | None
    is_known: bool = True


def test_record_has_amounts_as_digits_and_ids_and_times_as_text() -> None:
    record = to_record(Row("ETHEREUM", Decimal("1000000000000000000000"), AT))

    assert list(without_place(record).items()) == [
        ("network", "ETHEREUM"),
        ("base_units", "1000000000000000000000"),
        ("since", "2026-11-01T12:30:00+00:00"),
        ("count", 3),
    ]
    assert to_record(Row("ETHEREUM", None, AT))["base_units"] is None


def test_place_of_a_row_is_the_query_of_the_following_page() -> None:
    place = place_of(to_record(Row("ETHEREUM", None, AT)))

    assert place == {"after_at": "2026-11-01T12:30:00+00:00", "after_id": str(ID)}
    assert place_values((AT, ID)) == {"after_at": AT, "after_id": ID}
    assert place_values(None) == {"after_at": None, "after_id": UUID(int=0)}


def test_dataclass_has_the_columns_of_its_fields_with_amounts_as_integers() -> None:
    paid, unpaid = Row("ETHEREUM", Decimal(5), AT), Row("ETHEREUM", None, AT)

    assert to_dataclass(Facts, paid, without=["is_known"]) == Facts("ETHEREUM", 5)
    assert to_dataclass(Facts, unpaid, without=["is_known"]) == Facts("ETHEREUM", None)


def test_field_without_a_column_is_no_default_by_mistake() -> None:
    with pytest.raises(KeyError, match="is_known"):
        to_dataclass(Facts, Row("ETHEREUM", Decimal(5), AT))
