"""Leadership by a row that runs out. Its epoch grows whenever it changes hands.

A lease selects who works, not who may write: a holder that was paused past its term may resume
later. What must not be done twice is guarded by the epoch (`require_epoch`) or by its own keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Final

from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import (
    Connection,
    Engine,
    Question,
    Transaction,
    execute_alone,
    transaction,
)
from swap_runtime.postgres.sql import Rows, sql

TERM: Final = timedelta(seconds=10)

HOLD: Final = sql("""
INSERT INTO lease AS held (name, holder, epoch, expires_at)
VALUES (:name, :holder, 1, now() + :term)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at,
    epoch = held.epoch + CASE WHEN held.holder = excluded.holder THEN 0 ELSE 1 END
WHERE held.holder = excluded.holder OR held.expires_at < now()
RETURNING epoch
""")
# Kept, with its epoch: the next holder's must be higher. No holder: the same one must not return
# under the epoch that it released.
RELEASE: Final = sql("""
UPDATE lease SET holder = '', expires_at = '-infinity' WHERE name = :name AND holder = :holder
""")
EPOCH: Final = sql("SELECT epoch FROM lease WHERE name = :name FOR SHARE")


class LeaseLost(Exception):
    """The lease ran out or went to another: what was under way has been cancelled."""


class Lease:
    """One holder's view of one lease."""

    def __init__(self, engine: Engine, name: str, *, holder: str, term: timedelta = TERM) -> None:
        self._engine = engine
        self.name = name
        self.holder = holder
        self.term = term
        self.epoch: int | None = None
        self._held_until = 0.0
        self._values = {"name": name, "holder": holder, "term": term}

    @property
    def is_held(self) -> bool:
        """Whether the last renewal still covers this moment, by this process's own clock."""
        return self.epoch is not None and _now() < self._held_until

    @property
    def _is_fresh(self) -> bool:
        left = self._held_until - _now()
        return self.epoch is not None and left > self.term.total_seconds() * 2 / 3

    @asynccontextmanager
    async def transaction(
        self, *questions: Question
    ) -> AsyncIterator[tuple[Transaction, bool, Sequence[Rows]]]:
        """Open a transaction that takes or renews the lease; say whether it is held.

        A renewal in the first third of the term writes nothing.

        :param questions: queries in the same round trip, held or not; their rows come last.
        :raises Unavailable: when Postgres is away.
        """
        with self._reset_on_failure():
            async with transaction(self._engine) as connection:
                answers = await self._acquire_and_ask(connection, questions)
                yield connection, self.epoch is not None, answers

    async def acquire(self) -> bool:
        """Take or renew; say whether it is held. In the first third of the term the database is not
        queried.

        :raises Unavailable: when Postgres is away.
        """
        if not self._is_fresh:
            with self._reset_on_failure():
                requested_at = _now()
                self._apply_hold(
                    await execute_alone(self._engine, HOLD, self._values), requested_at
                )
        return self.epoch is not None

    async def release(self) -> None:
        """Let another take it at once. When Postgres is away it runs out by itself."""
        self.epoch = None
        with suppress(Unavailable):
            values = {"name": self.name, "holder": self.holder}
            await execute_alone(self._engine, RELEASE, values)

    async def _acquire_and_ask(
        self, connection: Transaction, questions: Sequence[Question]
    ) -> Sequence[Rows]:
        if self._is_fresh:
            return await connection.ask(*questions) if questions else ()
        requested_at = _now()
        hold_rows, *answers = await connection.ask((HOLD, self._values), *questions)
        self._apply_hold(hold_rows, requested_at)
        return answers

    def _apply_hold(self, hold_rows: Rows, requested_at: float) -> None:
        row = hold_rows.one_or_none()
        self.epoch = None if row is None else row.epoch
        self._held_until = requested_at + self.term.total_seconds()

    @contextmanager
    def _reset_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.epoch = None  # it is unknown what was committed
            raise


async def require_epoch(
    connection: Connection, name: str, epoch: int, *questions: Question
) -> Sequence[Rows]:
    """Refuse to write for a holder with an expired term; locks the lease row until commit.

    :param questions: queries in the same round trip; their rows are returned. What they lock is
        locked before the epoch is compared, and let go when it is another's.
    :raises LeaseLost: when the lease has changed hands since `epoch`.
    """
    hold_lease, *answers = await connection.ask((EPOCH, {"name": name}), *questions)
    if [row.epoch for row in hold_lease] != [epoch]:
        raise LeaseLost(name)
    return answers


@asynccontextmanager
async def hold_lease(
    engine: Engine,
    name: str,
    *,
    holder: str,
    term: timedelta = TERM,
    waiting: Callable[[], None] = lambda: None,
) -> AsyncIterator[Lease]:
    """Wait for the lease, run the body while it is held, let go at the end.

    :param waiting: called at each try, so that standby can be distinguished from a stuck task.
    :raises LeaseLost: out of the body, which is cancelled when renewal fails for too long.
    """
    lease = Lease(engine, name, holder=holder, term=term)
    await _wait_until_acquired(lease, waiting)
    body = asyncio.current_task()
    assert body is not None
    renewal = asyncio.create_task(_renew(lease, body), name=f"lease {name}")
    try:
        yield lease
    except asyncio.CancelledError:
        if renewal.done() and not renewal.cancelled() and body.uncancel() == 0:
            raise LeaseLost(name) from None
        raise
    finally:
        renewal.cancel()
        await asyncio.wait([renewal])  # a renewal under way would take back what is released
        await lease.release()


async def work_while_held(
    engine: Engine,
    name: str,
    work: Callable[[Lease], Awaitable[None]],
    *,
    holder: str,
    term: timedelta = TERM,
    waiting: Callable[[], None] = lambda: None,
) -> None:
    """Run `work` whenever the lease is held, again after it was lost; return when it returns."""
    while True:
        with suppress(LeaseLost):
            async with hold_lease(engine, name, holder=holder, term=term, waiting=waiting) as lease:
                await work(lease)
                return


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _wait_until_acquired(lease: Lease, waiting: Callable[[], None]) -> None:
    while True:
        waiting()
        with suppress(Unavailable):
            if await lease.acquire():
                return
        await asyncio.sleep(lease.term.total_seconds() / 5)


async def _renew(lease: Lease, body: asyncio.Task[object]) -> None:
    """Renew until it is lost, then cancel the body, before another holder may begin."""
    while lease.is_held:
        await asyncio.sleep(lease.term.total_seconds() / 5)
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(lease.term.total_seconds() / 5):
                if not await lease.acquire():
                    break
    body.cancel(f"lease {lease.name} lost")
