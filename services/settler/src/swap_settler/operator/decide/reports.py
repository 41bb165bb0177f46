"""The result of one invariant query over the tables of all services, for operators and alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """At most 50 rows that break one invariant; none where it holds or was not checked."""

    name: str
    rows: Sequence[Mapping[str, object]]
    failure: str | None = None  # why it could not be checked
