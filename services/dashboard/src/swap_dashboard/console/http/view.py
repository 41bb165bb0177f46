"""What a page of the console is made of: tables, facts and the forms of orders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from swap_dashboard.console.domain.units import ShownAmount

SHOWN_MAX: Final = 500  # characters of a text in a cell
NONE: Final = "\N{EN DASH}"
DEPOSIT_TONES: Final = {
    "seen": "warning", "credited": "good", "reverted": "bad", "quarantined": "bad"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """One value. `kind` selects its form: text, time, code, route, amount, number, badge or pre."""

    text: str
    kind: str = "text"
    href: str = ""
    tone: str = "quiet"  # of a badge
    unit: str = ""


def label(name: str) -> str:
    """Return a field's name as it stands beside its value."""
    return name.replace("_", " ").capitalize()


def plain(value: object) -> Cell:
    text = NONE if value in (None, "") else str(value)
    return Cell(text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…")


def whole(value: object) -> Cell:
    """Return a text uncut: what an operator decides by is read to its end."""
    return Cell(NONE if value in (None, "") else str(value))


def url_with(path: str, **query: object) -> str:
    """Return an address of the console with values of services in it, none of them as syntax."""
    named = {name: str(value) for name, value in query.items() if value}
    return f"{path}?{urlencode(named)}" if named else path


def part_of(value: object) -> str:
    """Return a value as one part of a path."""
    return quote(str(value), safe="")


def number(value: object) -> Cell:
    if value is None:
        return Cell(NONE)
    return Cell(f"{value:,}" if isinstance(value, int) else str(value), "number")


def moment(value: str | None) -> Cell:
    return Cell(value, "time") if value else Cell(NONE)


def code(value: object, href: str = "") -> Cell:
    """Return an id, address or hash: cut in the middle, and copied whole."""
    return Cell(str(value), "code", href) if value else Cell(NONE)


def swap_page(id: str | None) -> str:
    """Return the address of a swap's page; empty without a swap."""
    return f"/swaps/{id}" if id else ""


def swap_link(id: str | None) -> Cell:
    """Return a swap's id with its page."""
    return code(id, swap_page(id))


def deposit_link(id: str | None) -> Cell:
    """Return a deposit's id with its page."""
    return code(id, f"/deposits/{id}")


def route(value: str) -> Cell:
    """Return the route of an order: its lines break before a slash alone."""
    return Cell(value, "route")


def link(text: object, href: str) -> Cell:
    return Cell(str(text), "text", href)


def badge(text: str, tone: str = "quiet") -> Cell:
    return Cell(text, "badge", tone=tone)


def deposit_state(state: str) -> Cell:
    return badge(state, DEPOSIT_TONES.get(state, "quiet"))


def network_link(name: str) -> Cell:
    """Return a network's name with its page."""
    return link(name, f"/networks/{part_of(name)}")


def amount(value: ShownAmount) -> Cell:
    return Cell(value.text, "amount", unit=value.symbol or "base units")


def seconds(value: int | None) -> Cell:
    return Cell(NONE) if value is None else Cell(str(value), "seconds")


def document(value: Any) -> Cell:
    """Return a value of a document as it stands: objects as JSON, everything else as text."""
    if isinstance(value, dict | list):
        return Cell(json.dumps(value, ensure_ascii=False, default=str), "json")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    return whole(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns with a name that begins with `>` have numbers, and are right-aligned."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str = "Nothing."


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    label: str
    value: str = ""
    kind: str = "text"  # text, number, area, select, hidden or check
    options: Sequence[tuple[str, str]] = ()
    hint: str = ""
    placeholder: str = ""
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class OrderForm:
    """A form with an order that is shown once more before it is sent."""

    action: str
    button: str
    fields: Sequence[Field] = ()
    about: str = ""
    is_danger: bool = False
    question: str = "Reason"


@dataclass(frozen=True, slots=True)
class Part:
    """One section of a page."""

    title: str
    table: Table | None = None
    facts: Sequence[tuple[str, Cell]] = ()
    forms: Sequence[OrderForm] = ()
    about: str = ""
    text: str = ""  # shown unchanged, in a separate box
    next_page: str = ""  # the address of the following rows of its table


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of the overview, with the page that it is made of."""

    label: str
    value: str
    href: str
    tone: str = "good"
    about: str = ""


@dataclass(frozen=True, slots=True)
class View:
    title: str
    parts: Sequence[Part] = ()
    tiles: Sequence[Tile] = ()
    notices: Sequence[str] = ()
    crumbs: Sequence[tuple[str, str]] = ()
    about: str = ""
    next_page: str = ""  # the address of the following rows
    next_text: str = "Older"
