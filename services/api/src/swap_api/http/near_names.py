"""Names that are probably misspelled: at most two edits from a name that is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

EDITS_MAX: Final = 2


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the fewest edits, the first of several; None beyond two edits."""
    candidates = [one for one in known if abs(len(one) - len(name)) <= EDITS_MAX]
    for edits in range(1, EDITS_MAX + 1):
        for one in candidates:
            if is_within(edits, name, one):
                return one
    return None


def is_within(edits: int, one: str, other: str) -> bool:
    """Return whether so many insertions, deletions and replacements make one of the other."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    if not one or not other:
        return len(one) + len(other) <= edits
    return edits > 0 and (
        is_within(edits - 1, one[1:], other)
        or is_within(edits - 1, one, other[1:])
        or is_within(edits - 1, one[1:], other[1:])
    )
