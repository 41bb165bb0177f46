"""The time limits in docs/maximum-durations.md are those of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from swap_settler.settings import SettlerGroup
from swap_settler.settling.decide.dwelling import Dwell

PAGE = (Path(__file__).parents[4] / "docs/maximum-durations.md").read_text()
LETTER = re.compile(r"`(\w)` is `SWAP_SETTLER__(\w+)` \((\d+) (\w+)\)")
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.M)
BEYOND = "its deadline"


def lasting(number: str, unit: str) -> timedelta:
    return timedelta(**{unit if unit.endswith("s") else f"{unit}s": int(number)})


def letters() -> Iterator[tuple[str, timedelta]]:
    for letter, setting, number, unit in LETTER.findall(PAGE):
        published_text = lasting(number, unit)
        assert SettlerGroup.model_fields[setting.lower()].default == published_text, setting
        yield letter, published_text


def published(published_text: str, known: dict[str, timedelta]) -> timedelta:
    """Return the sum of `2 P + 1 hour`, or the time after the deadline."""
    total = timedelta(0)
    for term in published_text.split(" + "):
        if term == BEYOND:
            continue
        *count, what = term.split()
        number = count[0] if count else "1"
        total += known[what] * int(number) if what in known else lasting(number, what)
    return total


def test_the_longest_times_that_are_published_are_those_that_swaps_are_held_to() -> None:
    known = dict(letters())
    bounds = Dwell(payment=known["P"], requote=known["Q"]).bounds

    published_text = {status: published(time, known) for status, time in ROW.findall(PAGE)}

    assert published_text == {status.value: bound for status, bound in bounds.items()}
