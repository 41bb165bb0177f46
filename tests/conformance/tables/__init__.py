"""The specification as data, and its reader."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Field:
    section: str
    model: str
    name: str
    type: str
    is_nullable: bool


@dataclass(frozen=True, slots=True)
class Model:
    section: str
    name: str
    is_closed: bool
    missing_because: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    section: str
    method: str
    path: str  # with its query, and {…} for values that the suite fills in
    key: str  # the weakest key with access: none, publishable, secret
    data: str  # a type, or - where there is no data
    purpose: str

    @property
    def name(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refused situation, with the expected error."""

    section: str
    situation: str
    ask: str  # method and path
    code: str
    status: int
    key: str = "secret"
    order: bool = False  # the body is a valid order with these changes
    body: Mapping[str, Any] | None = None
    without: Sequence[str] = ()
    raw: str | None = None
    headers: Mapping[str, str] | None = None
    says: str = ""  # text of the message
    names: str = ""  # a member of the metadata
    needs: str = ""  # what the deployment must offer for the test


@dataclass(frozen=True, slots=True)
class Rule:
    section: str
    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class CoveredLine:
    """One line of the specification."""

    section: str
    sentence: str
    walked_by: Sequence[str]  # KIND:NAME


@cache
def models() -> Mapping[str, Model]:
    rows = (Model(s, name, closed == "closed", why) for s, name, closed, why in _rows("models", 4))
    return {model.name: model for model in rows}


@cache
def fields() -> Sequence[Field]:
    return [Field(s, m, n, kind, null == "null") for s, m, n, kind, null in _rows("fields", 5)]


@cache
def fields_of(model: str) -> Mapping[str, Field]:
    return {field.name: field for field in fields() if field.model == model}


@cache
def enums() -> Mapping[str, frozenset[str]]:
    values: dict[str, set[str]] = {}
    for _, name, value in _rows("enums", 3):
        values.setdefault(name, set()).add(value)
    return {name: frozenset(those) for name, those in values.items()}


@cache
def endpoints() -> Sequence[Endpoint]:
    return [Endpoint(*row) for row in _rows("endpoints", 6)]


@cache
def beyond() -> frozenset[tuple[str, str]]:
    """Return method and path of endpoints that are allowed beyond the specification."""
    return frozenset((method, path) for method, path, _ in _rows("beyond", 3))


@cache
def refusals() -> Sequence[Refusal]:
    document = tomllib.loads((FOLDER / "refusals.toml").read_text())
    return [Refusal(**row) for row in document["refusal"]]


@cache
def rules() -> Mapping[tuple[str, str], Rule]:
    return {(row[0], row[1]): Rule(*row) for row in _rows("rules", 3)}


@cache
def coverage() -> Sequence[CoveredLine]:
    return [
        CoveredLine(section, sentence, [one.strip() for one in walked.split(";")])
        for section, sentence, walked in _rows("coverage", 3)
    ]


@cache
def codes() -> Mapping[str, int]:
    """Return the HTTP status of every error code."""
    return {code: int(status) for _, code, status in _rows("codes", 3)}


def _rows(table: str, columns: int) -> Iterator[list[str]]:
    for line in (FOLDER / f"{table}.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("|", columns - 1)]
            assert len(cells) == columns, f"{table}.txt: {line}"
            yield cells
