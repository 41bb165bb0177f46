from __future__ import annotations

from collections.abc import Callable

from swap_runtime.errors import Refused, Unavailable
from swap_settler.operator import observe
from swap_settler.operator.usecases.check_invariants import CheckInvariants


class ReportInvariants:
    """Check the invariants, and export how many rows break each.

    A check that is not possible changes no metric: the time of the last check then shows it.
    """

    def __init__(self, check_invariants: CheckInvariants) -> None:
        self._check_invariants = check_invariants

    async def __call__(self, after_each: Callable[[], None]) -> None:
        """
        :param after_each: called after each query.
        """
        try:
            report = await self._check_invariants(after_each)
        except (Refused, Unavailable) as error:
            observe.invariants_not_checked(error)
            return
        observe.invariants_checked(report.at, report.results)
