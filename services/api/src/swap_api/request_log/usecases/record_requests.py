from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_api.request_log.decide.records import AnsweredRequest
from swap_api.request_log.decide.redaction import redact
from swap_api.request_log.store.records import PostgresRequestRecords
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable

TRIMMED_APPS_MAX: Final = 20  # in one statement, which reads all records that an app may have
# Between two saves, in one process.
WAITING_MAX: Final = 1000
OF_APP_MAX: Final = 50
READS_OF_APP_MAX: Final = 10  # clients poll: successful reads repeat themselves
DeclaredMembers = Mapping[tuple[str, str | None], frozenset[str]]  # members of bodies, by endpoint


class RecordRequests:
    """Record requests off their path: an answer never waits for its record.

    What exceeds a bound, or cannot be saved, is dropped and counted.
    """

    def __init__(
        self,
        records: PostgresRequestRecords,
        *,
        declared: DeclaredMembers,
        retention: timedelta,
        retained_per_app: int,
        clock: Clock,
        new_id: Callable[[], UUID],
    ) -> None:
        """
        :param retention: zero records nothing.
        :param retained_per_app: how many records of one app are stored at most.
        """
        self._records = records
        self._declared = declared
        self._retention = retention
        self._retained_per_app = retained_per_app
        self._clock = clock
        self._new_id = new_id
        self._waiting: list[tuple[datetime, AnsweredRequest]] = []
        self._of_app: Counter[UUID] = Counter()
        self._reads_of_app: Counter[UUID] = Counter()
        self._untrimmed: set[UUID] = set()

    def __call__(self, answered: AnsweredRequest) -> None:
        if not self._retention:
            return
        app_id = answered.app_id
        is_read = answered.is_successful_read
        if (
            len(self._waiting) >= WAITING_MAX
            or self._of_app[app_id] >= OF_APP_MAX
            or (is_read and self._reads_of_app[app_id] >= READS_OF_APP_MAX)
        ):
            observe.requests_unrecorded("too many", 1)
            return
        self._of_app[app_id] += 1
        self._reads_of_app[app_id] += is_read
        self._waiting.append((self._clock(), answered))

    async def save(self) -> None:
        """Write the waiting records in one statement."""
        waiting, self._waiting = self._waiting, []
        self._of_app.clear()
        self._reads_of_app.clear()
        if not waiting:
            return
        self._untrimmed |= {answered.app_id for _, answered in waiting}
        try:
            await self._records.add([self._row(at, answered) for at, answered in waiting])
        except Unavailable:
            observe.requests_unrecorded("postgres is away", len(waiting))

    async def forget_old(self) -> bool:
        """Delete records that are older or more than are stored; True when there may be more."""
        is_old = await self._records.forget(self._clock() - self._retention)
        apps = sorted(self._untrimmed)[:TRIMMED_APPS_MAX]
        if not apps:
            return is_old
        # Removed only afterwards: a failure leaves them for the next round.
        has_more = await self._records.trim(apps, self._retained_per_app)
        if not has_more:
            self._untrimmed.difference_update(apps)
        return is_old or bool(self._untrimmed)

    def _row(self, at: datetime, answered: AnsweredRequest) -> Mapping[str, object]:
        declared = self._declared.get((answered.method, answered.route), frozenset())
        body, is_cut = redact(answered.body, declared) if answered.body else (None, False)
        return {
            "id": self._new_id(),
            "app_id": answered.app_id,
            "key_id": answered.key_id,
            "request_id": answered.request_id,
            "at": at,
            "method": answered.method,
            "route": answered.route,
            "status": answered.status,
            "error_code": answered.error_code,
            "milliseconds": answered.milliseconds,
            "swap_id": answered.swap_id,
            "body": body,
            "body_is_cut": is_cut,
        }
