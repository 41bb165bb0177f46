"""The stored watches: where each network stands, read whole at a start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from swap_chain_watcher.adapters import evidence_statements, statements
from swap_chain_watcher.adapters.rows import block_row, to_block, to_halt, to_position, to_tracked
from swap_chain_watcher.domain.movements import Movement, Place, TrackedMovement, UnverifiedMovement
from swap_chain_watcher.domain.watch import Halt, HaltMark, UncheckedRange, Watch, WatchPosition
from swap_chains.events import Block
from swap_runtime.errors import Unavailable
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import (
    Connection,
    Engine,
    execute_alone,
    read_alone,
    reading,
    transaction,
)
from swap_runtime.postgres.sql import sql


class PostgresWatches:
    """The table of cursors with what belongs to each."""

    def __init__(self, engine: Engine, *, reader: str = "settler") -> None:
        """
        :param reader: the service that pays for what is published: its schema, and its consumer.
        """
        self._engine = engine
        self._reader = reader
        self._is_read = sql(statements.IS_READ.format(schema=reader))

    async def start(self, network: str, first: Block) -> None:
        """Start a network's cursor after this block, unless it has one."""
        values = {"network": network, **block_row(first)}
        async with transaction(self._engine) as connection:
            connection.post(statements.BEGIN_BLOCK, values)
            connection.post(statements.BEGIN_CURSOR, values)

    async def load(self, network: str) -> Watch | None:
        """Return the watch as it was last committed."""
        values = {"network": network}
        # One transaction with one lock: the three answers belong together.
        async with transaction(self._engine) as connection:
            connection.post(statements.LOCK_CURSOR, values)
            cursor = (await connection.execute(statements.CURSOR, values)).one_or_none()
            if cursor is None:
                return None
            since = {**values, "finalized_number": cursor.finalized_number}
            recent, movements = await connection.ask(
                (statements.RECENT_BLOCKS, since), (statements.OPEN_MOVEMENTS, since)
            )
        tracked = [to_tracked(row) for row in movements]
        return Watch(
            network=network,
            cursor=to_block(cursor),
            finalized_number=cursor.finalized_number,
            start_number=cursor.start_number,
            revision=cursor.revision,
            recent=tuple(to_block(row) for row in recent),
            open={one.movement.id: one for one in tracked},
        )

    async def find_nearest_block(self, network: str, number: int) -> Block | None:
        """Return the highest stored canonical block at or below a number."""
        values = {"network": network, "number": number}
        row = (await read_alone(self._engine, statements.NEAREST_BLOCK, values)).one_or_none()
        return None if row is None else to_block(row)

    async def find_one_provider_end(self, network: str, *, after: int, upto: int) -> Block | None:
        """Return the last stored block of the first run that one provider reported."""
        values = {"network": network, "after": after, "upto": upto}
        row = (await read_alone(self._engine, statements.ONE_PROVIDER, values)).one_or_none()
        return None if row is None else replace(to_block(row), provider=row.provider)

    async def find_unchecked(
        self, network: str, *, is_halted: bool = False
    ) -> UncheckedRange | None:
        """Return what a second look has to do; nothing while the network is halted.

        With `is_halted`, only while it is.
        """
        values = {"network": network, "is_halted": is_halted}
        row = (await read_alone(self._engine, statements.UNCHECKED_RANGE, values)).one_or_none()
        return None if row is None else UncheckedRange(row.checked_number, row.finalized_number)

    async def list_unverified(
        self, network: str, *, after: Place, limit: int
    ) -> Sequence[UnverifiedMovement]:
        """Return movements behind a place that need a second provider, oldest first."""
        values = {"network": network, **_behind(after), "limit": limit}
        rows = await read_alone(self._engine, evidence_statements.TO_VERIFY, values)
        return [UnverifiedMovement(to_tracked(row).movement, row.provider) for row in rows]

    async def find_checked_block(self, network: str) -> Block | None:
        """Return the last block up to which final blocks were read twice."""
        rows = await read_alone(self._engine, statements.CHECKED_BLOCK, {"network": network})
        row = rows.one_or_none()
        return None if row is None else to_block(row)

    async def unverified_rises(
        self, network: str, *, after: Place, upto: int, limit: int
    ) -> Sequence[Movement]:
        """Return rises of coins up to a block that one provider has reported, oldest first."""
        values = {"network": network, **_behind(after), "upto": upto, "limit": limit}
        rows = await read_alone(self._engine, evidence_statements.UNVERIFIED_RISES, values)
        return [to_tracked(row).movement for row in rows]

    async def list_logs(
        self, network: str, transaction_hashes: Collection[str]
    ) -> Sequence[TrackedMovement]:
        """Return what was published of the transactions' logs in canonical blocks.

        Reverted ones are included; rises of coins, which are in no log, are not.
        """
        values = {"network": network, "transaction_hashes": sorted(transaction_hashes)}
        rows = await read_alone(self._engine, statements.PUBLISHED_LOGS, values)
        return [to_tracked(row) for row in rows]

    async def find_halt(self, network: str) -> Halt | None:
        row = (
            await read_alone(self._engine, statements.FIND_HALT, {"network": network})
        ).one_or_none()
        return None if row is None else to_halt(row)

    async def halt(self, halt: Halt) -> None:
        """Mark a network halted. The first reason stays."""
        values = {"network": halt.network, "at": halt.at, "reason": halt.reason}
        await execute_alone(self._engine, statements.HALT, values)

    async def find_halt_mark(self, network: str) -> HaltMark | None:
        """Return what a resume compares; None when the network is not halted."""
        async with reading(self._engine) as connection:
            return await _find_halt_mark(connection, network)

    async def is_read(self, network: str) -> bool:
        """Return whether the settler has taken all that was published of the network.

        :raises Unavailable: when its watermark is not readable.
        """
        async with reading(self._engine) as connection:
            return await self._has_read(connection, network)

    async def resume(self, network: str, mark: HaltMark) -> bool:
        """Clear a halt under the cursor's lock, unless it changed or the settler is behind.

        :param mark: from before the checks of the resume.
        :raises Unavailable: when the settler's watermark is not readable.
        """
        values = {"network": network}
        async with transaction(self._engine) as connection:
            # Each statement behind the lock sees what was committed before it began.
            await connection.execute(statements.LOCK_CURSOR, values)
            is_as_checked = await _find_halt_mark(connection, network) == mark
            if not is_as_checked or not await self._has_read(connection, network):
                return False
            await connection.execute(statements.RESUME, values)
            await log_order(connection)
        return True

    async def _has_read(self, connection: Connection, network: str) -> bool:
        """
        :raises Unavailable: when the reader's table is there and this service may not read it.
        """
        rows = await connection.execute(statements.IS_READER_READABLE, {"schema": self._reader})
        table = rows.one_or_none()
        if table is None:
            return True  # no reads, so no payments
        if not table.is_readable:
            raise Unavailable(
                f"{self._reader}.watermark cannot be read: grant the chain-watcher's role USAGE on "
                "that schema and SELECT on that table"
            )
        values = {"network": network, "consumer": self._reader}
        return bool(await connection.scalar(self._is_read, values))

    async def list_positions(self) -> Sequence[WatchPosition]:
        rows = await read_alone(self._engine, statements.POSITIONS)
        return tuple(to_position(row) for row in rows)


async def _find_halt_mark(connection: Connection, network: str) -> HaltMark | None:
    rows = await connection.execute(statements.HALT_MARK, {"network": network})
    row = rows.one_or_none()
    return None if row is None else HaltMark(row.halted_at, row.revision, row.last_outbox_id)


def _behind(place: Place) -> Mapping[str, object]:
    return {
        "after_number": place.block_number,
        "after_hash": place.block_hash,
        "after_id": place.id,
    }
