"""The result of checking one invariant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """The first rows that break one invariant; none where it holds or was not checked."""

    name: str
    rows: Sequence[Mapping[str, object]]
    failure: str | None = None  # why it could not be checked
