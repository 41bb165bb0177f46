"""New swaps, many to a commit: row 0, the message to the settler and the answer together."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from swap_api.adapters import statements
from swap_api.adapters.gathering import Gathering
from swap_api.adapters.idempotency import in_progress
from swap_api.adapters.rows import sign_request_row, swap_row
from swap_api.ports import NewSwap, SequenceNumberTaken
from swap_runtime.columns import columns
from swap_runtime.crashpoint import crashpoint
from swap_runtime.database import Connection, Engine, reading, transaction
from swap_runtime.errors import Unavailable
from swap_runtime.outbox import add_to_outbox


class PostgresCreations:
    """Two commits at a time: what came while one is made durable does not wait for its disk.

    No claim and no swap is in two batches, so neither waits for the other's rows.
    """

    def __init__(self, engine: Engine, *, batch_max: int = 128, flights_max: int = 2) -> None:
        self._engine = engine
        self._adding: Gathering[NewSwap, None] = Gathering(
            self._add_batch, batch_max=batch_max, flights_max=flights_max
        )

    async def add(self, new: NewSwap) -> None:
        await self._adding(new)

    async def _add_batch(self, batch: Sequence[NewSwap]) -> Sequence[Exception | None]:
        try:
            return await self._commit(batch)
        except Unavailable as error:
            return await self._after_lost_connection(batch, error)
        except Exception as error:
            if len(batch) == 1:
                return [error]
            # One of them cannot be saved: alone it harms nobody else.
            return [outcome for new in batch for outcome in await self._add_batch([new])]

    async def _commit(self, batch: Sequence[NewSwap]) -> Sequence[Exception | None]:
        async with transaction(self._engine) as connection:
            held = await _lock_claims(connection, batch)
            able = [new for new in batch if new.claim is None or new.claim.token in held]
            added = await _insert(connection, able)
            saved = [new for new in able if new.row.swap.swap_id in added]
            await _ask_signers(connection, saved)
            await add_to_outbox(connection, [new.outgoing for new in saved])
            await _answer_claims(connection, saved)
            crashpoint("api.before_create_commit")
        crashpoint("api.after_create_commit")
        ids = {id(new) for new in able}
        return [
            None
            if new.row.swap.swap_id in added
            else SequenceNumberTaken()
            if id(new) in ids
            else in_progress()
            for new in batch
        ]

    async def _after_lost_connection(
        self, batch: Sequence[NewSwap], error: Unavailable
    ) -> Sequence[Exception | None]:
        """Look whether it was committed: a connection lost during COMMIT does not say."""
        ids = [new.row.swap.swap_id for new in batch]
        try:
            async with reading(self._engine) as connection:
                there = set(await connection.scalars(statements.WHICH_EXIST, {"ids": ids}))
        except Unavailable:
            return [error] * len(batch)
        return [None if swap_id in there else error for swap_id in ids]


async def _lock_claims(connection: Connection, batch: Sequence[NewSwap]) -> frozenset[UUID]:
    claims = [new.claim for new in batch if new.claim is not None]
    if not claims:
        return frozenset()
    values = {
        "app_id": [claim.app_id for claim in claims],
        "key": [claim.key for claim in claims],
        "claim": [claim.token for claim in claims],
    }
    return frozenset(await connection.scalars(statements.LOCK_CLAIMS, values))


async def _insert(connection: Connection, batch: Sequence[NewSwap]) -> frozenset[UUID]:
    if not batch:
        return frozenset()
    rows = columns([swap_row(new.row) for new in batch])
    return frozenset(await connection.scalars(statements.INSERT_SWAPS, rows))


async def _ask_signers(connection: Connection, batch: Sequence[NewSwap]) -> None:
    rows = [sign_request_row(new.sign_request) for new in batch if new.sign_request is not None]
    if rows:
        await connection.execute(statements.ADD_SIGN_REQUESTS, columns(rows))


async def _answer_claims(connection: Connection, batch: Sequence[NewSwap]) -> None:
    rows: list[dict[str, object]] = [
        {
            "claim": new.claim.token,
            "app_id": new.claim.app_id,
            "key": new.claim.key,
            "swap_id": new.row.swap.swap_id,
            "answer": new.answer,
        }
        for new in batch
        if new.claim is not None
    ]
    if rows:
        await connection.execute(statements.ANSWER_CLAIMS, columns(rows))
