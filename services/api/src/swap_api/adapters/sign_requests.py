"""Requests for signatures and submitted signatures, on Postgres."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from swap_api.adapters import statements
from swap_api.adapters.rows import sign_request_row, to_gasless, to_sign_request
from swap_api.domain.gasless import SignRequest, Submission, takes_another
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, execute_alone, reading, transaction


class PostgresSignRequests:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all_of(self, swap_id: UUID, signer: str) -> list[SignRequest]:
        values = {"swap_id": swap_id, "signer": signer}
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.SIGN_REQUESTS_OF, values)
        return [to_sign_request(row) for row in rows]

    async def newest(self, swap_id: UUID, signer: str) -> SignRequest | None:
        return next(iter(await self.all_of(swap_id, signer)), None)

    async def count_signers(self, swap_id: UUID) -> int:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.COUNT_SIGNERS, {"swap_id": swap_id})
        signers: int = rows.one().signers
        return signers

    async def last_asked(self, swap_id: UUID) -> SignRequest | None:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.LAST_SIGN_REQUEST, {"swap_id": swap_id})
        row = rows.one_or_none()
        return None if row is None else to_sign_request(row)

    async def submitted(self, swap_id: UUID) -> Submission | None:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.LAST_SUBMISSION, {"swap_id": swap_id})
        row = rows.one_or_none()
        return None if row is None else Submission(row.submission, row.valid_before)

    async def keep(self, request: SignRequest) -> SignRequest:
        async with transaction(self._engine) as connection:
            connection.post(statements.ADD_SIGN_REQUEST, sign_request_row(request))
            key = {
                "swap_id": request.swap_id,
                "signer": request.signer,
                "issue": request.issue,
            }
            row = (await connection.execute(statements.SIGN_REQUEST, key)).one()
        return to_sign_request(row)

    async def refuse(self, request: SignRequest) -> None:
        await execute_alone(self._engine, statements.REFUSE_SIGN_REQUEST, _key(request))

    async def submit(
        self, request: SignRequest, message: Callable[[int], Outgoing], *, now: datetime
    ) -> bool:
        """The swap's row is locked meanwhile: of two that come together one is the first."""
        swap_id = {"swap_id": request.swap_id}
        async with transaction(self._engine) as connection:
            [locked], rows = await connection.ask(
                (statements.LOCK_GASLESS, swap_id), (statements.LAST_SUBMISSION, swap_id)
            )
            swap = to_gasless(locked.gasless)
            row = rows.one_or_none()
            held = None if row is None else Submission(row.submission, row.valid_before)
            if swap is None or not takes_another(swap, held, now):
                return False
            known = 0 if swap.authorization is None else swap.authorization.submission
            submission = 1 + max(known, 0 if held is None else held.submission)
            values = {**_key(request), "submission": submission}
            connection.post(statements.SUBMIT_SIGN_REQUEST, values)
            add_to_outbox(connection, [message(submission)])
        return True


def _key(request: SignRequest) -> dict[str, object]:
    return {"swap_id": request.swap_id, "signer": request.signer, "issue": request.issue}
