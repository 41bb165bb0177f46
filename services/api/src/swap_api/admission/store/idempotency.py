"""Idempotency keys on Postgres. The answer is saved with the swap, by `creations.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_api.admission.decide.idempotency import Claim, Replay
from swap_api.call_batching import CallBatcher
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, execute_alone, read_alone
from swap_runtime.postgres.sql import Row, sql

# An expired one is taken over; one past its retention starts again.
CLAIM: Final = sql("""
INSERT INTO idempotency AS held (app_id, key, body_hash, claim, claimed_until, created_at)
SELECT DISTINCT ON (new.app_id, new.key) new.*, CAST(:now AS timestamptz)
FROM unnest(CAST(:app_id AS uuid[]), CAST(:key AS text[]), CAST(:body_hash AS bytea[]),
            CAST(:claim AS uuid[]), CAST(:claimed_until AS timestamptz[]))
     AS new(app_id, key, body_hash, claim, claimed_until) ORDER BY new.app_id, new.key
ON CONFLICT (app_id, key) DO UPDATE SET
  body_hash = excluded.body_hash, claim = excluded.claim, claimed_until = excluded.claimed_until,
  created_at = excluded.created_at, swap_id = NULL, answer = NULL
WHERE held.created_at < CAST(:forgotten_before AS timestamptz)
   OR (held.answer IS NULL AND held.claimed_until < CAST(:now AS timestamptz))
RETURNING claim
""")
FIND_HELD: Final = sql("""
SELECT app_id, key, body_hash, claimed_until, answer FROM idempotency
JOIN unnest(CAST(:app_id AS uuid[]), CAST(:key AS text[])) AS wanted(app_id, key)
  USING (app_id, key)
""")
RELEASE_CLAIM: Final = sql("""
DELETE FROM idempotency
WHERE app_id = :app_id AND key = :key AND claim = :claim AND (answer IS NULL OR answer = '')
""")
# An empty answer is none yet, of something that is never done again.
BEGIN_CLAIM: Final = sql("""
UPDATE idempotency SET answer = ''
WHERE app_id = :app_id AND key = :key AND claim = :claim AND answer IS NULL
""")
FORGET_KEYS: Final = sql("""
DELETE FROM idempotency WHERE (app_id, key) IN (
  SELECT app_id, key FROM idempotency WHERE created_at < :before
  ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED)
""")
ANSWER_CLAIM: Final = sql("""
UPDATE idempotency SET swap_id = :swap_id, answer = :answer
WHERE app_id = :app_id AND key = :key AND claim = :claim
""")

# Longer than any request may take: when it is over, nothing was created and nothing will be.
CLAIM_TERM: Final = timedelta(seconds=15)
RETENTION: Final = timedelta(hours=24)
DELETE_BATCH_MAX: Final = 1000

Outcome = Replay | None


class PostgresIdempotency:
    def __init__(self, engine: Engine, *, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._claiming: CallBatcher[Claim, Outcome] = CallBatcher(self._claim_batch, batch_max=256)

    async def claim(self, claim: Claim) -> Replay | None:
        """Take the right to answer, or return the first answer.

        :raises ApiRefusal: when another body used the key, or the first request still runs.
        """
        return await self._claiming(claim)

    async def begin(self, claim: Claim) -> None:
        """Make the claim permanent, so that no other process repeats its work after a crash.

        A repeated request gets an empty answer, unless one was saved.

        :raises ApiRefusal: when the claim was lost meanwhile.
        """
        result = await execute_alone(self._engine, BEGIN_CLAIM, _row(claim))
        if not result.changed:
            raise in_progress()

    async def save(self, claim: Claim, swap_id: UUID | None, answer: bytes) -> None:
        """Keep what was answered, about a swap perhaps, if the claim was not lost meanwhile."""
        values = {**_row(claim), "swap_id": swap_id, "answer": answer}
        await execute_alone(self._engine, ANSWER_CLAIM, values)

    async def release(self, claim: Claim) -> None:
        """Give the right back where nothing was created; what was answered stays.

        Where that is not possible now, the right ends by itself a little later.
        """
        try:
            await execute_alone(self._engine, RELEASE_CLAIM, _row(claim))
        except Unavailable as error:
            observe.idempotency_claim_not_released(error)

    async def forget_old(self) -> bool:
        """Drop keys that are older than they are kept; True when there may be more."""
        values = {"before": self._clock() - RETENTION, "limit": DELETE_BATCH_MAX}
        dropped = await execute_alone(self._engine, FORGET_KEYS, values)
        return dropped.changed == DELETE_BATCH_MAX

    async def _claim_batch(self, claims: Sequence[Claim]) -> Sequence[Outcome | Exception]:
        won = await self._take(claims)
        lost = await self._outcomes([claim for claim in claims if claim.token not in won])
        return [lost.get(claim.token) for claim in claims]

    async def _outcomes(self, lost: Sequence[Claim]) -> Mapping[UUID, Outcome | Exception]:
        """Return the results for claims with a held key; their failures do not affect the
        holders.
        """
        try:
            held = await self._find_held(lost) if lost else {}
        except Unavailable as error:
            return {claim.token: error for claim in lost}
        now = self._clock()
        return {
            claim.token: _outcome(claim, held.get((claim.app_id, claim.key)), now) for claim in lost
        }

    async def _take(self, claims: Sequence[Claim]) -> frozenset[UUID]:
        now = self._clock()
        until = now + CLAIM_TERM
        rows = [{**_row(claim), "claimed_until": until} for claim in claims]
        values = {**columns(rows), "now": now, "forgotten_before": now - RETENTION}
        result = await execute_alone(self._engine, CLAIM, values)
        return frozenset(row.claim for row in result)

    async def _find_held(self, claims: Sequence[Claim]) -> dict[tuple[UUID, str], Row]:
        wanted = {
            "app_id": [claim.app_id for claim in claims],
            "key": [claim.key for claim in claims],
        }
        rows = await read_alone(self._engine, FIND_HELD, wanted)
        return {(row.app_id, row.key): row for row in rows}


def _row(claim: Claim) -> dict[str, object]:
    return {
        "app_id": claim.app_id,
        "key": claim.key,
        "body_hash": claim.body_hash,
        "claim": claim.token,
    }


def _outcome(claim: Claim, held: Row | None, now: datetime) -> Outcome | Exception:
    if held is not None and held.body_hash != claim.body_hash:
        return ApiRefusal(
            ErrorCode.IDEMPOTENCY_KEY_REUSED,
            "This idempotency key was used with another body; take a new one",
        )
    if held is None or held.answer is None:  # released a moment ago counts as running
        return in_progress()
    if not held.answer and now < held.claimed_until:
        return in_progress()
    return Replay(held.answer)


def in_progress() -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.IDEMPOTENCY_KEY_IN_PROGRESS,
        "The first request with this idempotency key is still running; try again in a moment",
        headers={"retry-after": "1"},
    )
