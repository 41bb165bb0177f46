"""Checks the invariants of all services' tables."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from swap_runtime.clock import Clock
from swap_runtime.errors import RequestRefused, Unavailable
from swap_settler.operator import observe
from swap_settler.operator.decide.reports import InvariantResult
from swap_settler.operator.store.invariants import PostgresInvariants

REPORT_VALID_FOR: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class InvariantReport:
    at: datetime
    results: Sequence[InvariantResult]


class CheckInvariants:
    """One run at a time; callers within 30 seconds share its report, as it reads whole tables.

    A query that failed stays failed in that report.
    """

    def __init__(self, invariants: PostgresInvariants, *, clock: Clock) -> None:
        self._invariants = invariants
        self._clock = clock
        self._lock = asyncio.Lock()
        self._report: InvariantReport | None = None

    async def __call__(self, after_each: Callable[[], None] = lambda: None) -> InvariantReport:
        """Return the last report while it is valid, else check again.

        :param after_each: called after each query of a check.
        :raises RequestRefused: when the views of the invariants are not installed, or not readable.
        """
        async with self._lock:
            if self._report is None or self._clock() - self._report.at > REPORT_VALID_FOR:
                results = await self._invariants.check(after_each)
                # The time after the check: requests that waited for a slow check use its report.
                self._report = InvariantReport(self._clock(), results)
            return self._report

    async def report(self, after_each: Callable[[], None]) -> None:
        """Check them, and export how many rows break each.

        A check that is not possible changes no metric: the time of the last check then shows it.

        :param after_each: called after each query.
        """
        try:
            report = await self(after_each)
        except (RequestRefused, Unavailable) as error:
            observe.invariants_not_checked(error)
            return
        observe.invariants_checked(report.at, report.results)
