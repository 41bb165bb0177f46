"""Requests for signatures and submitted signatures of gasless swaps, on Postgres.

`issue` counts the requests to one signer for a swap, `submission` the accepted signatures of a
swap, of any signer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_api.model.gasless import SignRequest, Submission, accepts_another
from swap_api.read_model.store.rows import sign_request_row, to_gasless, to_sign_request
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, execute_alone, read_alone, transaction
from swap_runtime.postgres.sql import sql

SIGN = """
SELECT swap_id, signer, issue, standard, nonce, valid_after, valid_before, submission, is_refused
FROM sign_request
"""
SIGN_REQUESTS_OF: Final = sql(f"""
{SIGN} WHERE swap_id = :swap_id AND signer = :signer ORDER BY issue DESC LIMIT 5
""")
SIGN_REQUEST: Final = sql(
    f"{SIGN} WHERE swap_id = :swap_id AND signer = :signer AND issue = :issue"
)
COUNT_SIGNERS: Final = sql("""
SELECT count(DISTINCT signer) AS signers FROM sign_request WHERE swap_id = :swap_id
""")
LAST_SIGN_REQUEST: Final = sql(f"""
{SIGN} WHERE swap_id = :swap_id ORDER BY created_at DESC, issue DESC LIMIT 1
""")
LAST_SUBMISSION: Final = sql("""
SELECT submission, valid_before FROM sign_request
WHERE swap_id = :swap_id AND submission IS NOT NULL ORDER BY submission DESC LIMIT 1
""")
NEW_SIGN_REQUEST: Final = """
INSERT INTO sign_request (swap_id, signer, issue, standard, nonce, valid_after, valid_before)
"""
ADD_SIGN_REQUEST: Final = sql(
    NEW_SIGN_REQUEST
    + """
VALUES (:swap_id, :signer, :issue, :standard, CAST(:nonce AS numeric), :valid_after, :valid_before)
ON CONFLICT DO NOTHING
"""
)
REFUSE_SIGN_REQUEST: Final = sql("""
UPDATE sign_request SET is_refused = true
WHERE swap_id = :swap_id AND signer = :signer AND issue = :issue AND submission IS NULL
""")
SUBMIT_SIGN_REQUEST: Final = sql("""
UPDATE sign_request SET submission = :submission, is_refused = false, submitted_at = now()
WHERE swap_id = :swap_id AND signer = :signer AND issue = :issue
""")
LOCK_GASLESS: Final = sql("SELECT gasless FROM swap WHERE id = :swap_id FOR UPDATE")


class PostgresSignRequests:
    """The signatures that were requested, and which were submitted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def newest_five(self, swap_id: UUID, signer: str) -> list[SignRequest]:
        """Return the newest five requests to a signer for a swap, the newest first."""
        values = {"swap_id": swap_id, "signer": signer}
        rows = await read_alone(self._engine, SIGN_REQUESTS_OF, values)
        return [to_sign_request(row) for row in rows]

    async def newest(self, swap_id: UUID, signer: str) -> SignRequest | None:
        return next(iter(await self.newest_five(swap_id, signer)), None)

    async def count_signers(self, swap_id: UUID) -> int:
        """Return how many signers have requests for a swap."""
        rows = await read_alone(self._engine, COUNT_SIGNERS, {"swap_id": swap_id})
        signers: int = rows.one().signers
        return signers

    async def latest_of_any_signer(self, swap_id: UUID) -> SignRequest | None:
        """Return the last request to any signer."""
        rows = await read_alone(self._engine, LAST_SIGN_REQUEST, {"swap_id": swap_id})
        row = rows.one_or_none()
        return None if row is None else to_sign_request(row)

    async def find_submission(self, swap_id: UUID) -> Submission | None:
        """Return the newest accepted signature, of any signer."""
        rows = await read_alone(self._engine, LAST_SUBMISSION, {"swap_id": swap_id})
        row = rows.one_or_none()
        return None if row is None else Submission(row.submission, row.valid_before)

    async def keep(self, request: SignRequest) -> SignRequest:
        """Save the request, unless one has its `issue`; return the stored one."""
        async with transaction(self._engine) as connection:
            connection.post(ADD_SIGN_REQUEST, sign_request_row(request))
            row = (await connection.execute(SIGN_REQUEST, _key(request))).one()
        return to_sign_request(row)

    async def refuse(self, request: SignRequest) -> None:
        """Store that a signature for this request was invalid; another may be submitted."""
        await execute_alone(self._engine, REFUSE_SIGN_REQUEST, _key(request))

    async def submit(
        self, request: SignRequest, message: Callable[[int], Outgoing], *, now: datetime
    ) -> bool:
        """Accept the signature, and post `message` with its number.

        Return False when another is in progress, or was spent and is still valid. The swap's row
        is locked meanwhile: of two that come together one is the first.
        """
        swap_id = {"swap_id": request.swap_id}
        async with transaction(self._engine) as connection:
            [locked], rows = await connection.ask(
                (LOCK_GASLESS, swap_id), (LAST_SUBMISSION, swap_id)
            )
            swap = to_gasless(locked.gasless)
            row = rows.one_or_none()
            newest = None if row is None else Submission(row.submission, row.valid_before)
            if swap is None or not accepts_another(swap, newest, now):
                return False
            known = 0 if swap.authorization is None else swap.authorization.submission
            submission = 1 + max(known, 0 if newest is None else newest.submission)
            values = {**_key(request), "submission": submission}
            connection.post(SUBMIT_SIGN_REQUEST, values)
            add_to_outbox(connection, [message(submission)])
        return True


def _key(request: SignRequest) -> dict[str, object]:
    return {"swap_id": request.swap_id, "signer": request.signer, "issue": request.issue}
