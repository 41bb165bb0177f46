"""New swaps, many to a commit: the row at sequence 0, the message to the settler, the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from swap_api.admission.decide.idempotency import Claim
from swap_api.admission.store.idempotency import in_progress
from swap_api.call_batching import CallBatcher
from swap_api.funding.store.sign_requests import NEW_SIGN_REQUEST
from swap_api.model.gasless import (
    SignRequest,
)
from swap_api.read_model.store.rows import SWAP_ARRAYS, SWAP_COLUMNS, sign_request_row, swap_row
from swap_api.read_model.swaps import SwapRow
from swap_api.swaps.store.own_addresses import OWN_ADDRESSES
from swap_runtime.crashpoint import crashpoint
from swap_runtime.errors import Unavailable
from swap_runtime.messaging.outbox import OUTBOX, Outgoing
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, execute_alone, reading
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry import tracing

HELD_CLAIM_IDS: Final = sql("""
SELECT held.claim FROM idempotency AS held
JOIN unnest(CAST(:app_id AS uuid[]), CAST(:key AS text[]), CAST(:claim AS uuid[]))
     AS mine(app_id, key, claim) USING (app_id, key, claim)
WHERE held.answer IS NULL
""")
# All that creations leave behind, in one statement that is their transaction. Nothing is created
# after a lost claim (claims are locked in order), nor for an address that is a swap's own. What was
# not created is neither published nor answered.
CREATE_SWAPS: Final = sql(f"""
WITH held AS (
  SELECT theirs.claim FROM idempotency AS theirs
  JOIN unnest(CAST(:claim_app_id AS uuid[]), CAST(:claim_key AS text[]), CAST(:claim AS uuid[]))
       AS mine(app_id, key, claim) USING (app_id, key, claim)
  WHERE theirs.answer IS NULL ORDER BY theirs.app_id, theirs.key FOR UPDATE OF theirs
), added AS (
  INSERT INTO swap ({SWAP_COLUMNS})
  SELECT {SWAP_COLUMNS}
  FROM unnest({SWAP_ARRAYS}, CAST(:claim_of AS uuid[])) AS new({SWAP_COLUMNS}, claim)
  WHERE (new.claim IS NULL OR new.claim IN (SELECT held.claim FROM held))
    AND NOT EXISTS (
      SELECT FROM swap AS own WHERE own.deposit_address = ANY(
        ARRAY[new.destination_address, new.source_address, new.refund_address]))
  ON CONFLICT DO NOTHING RETURNING id
), signing AS (
  {NEW_SIGN_REQUEST}
  SELECT * FROM unnest(
    CAST(:swap_id AS uuid[]), CAST(:signer AS text[]), CAST(:issue AS int[]),
    CAST(:standard AS text[]), CAST(:nonce AS numeric[]), CAST(:valid_after AS bigint[]),
    CAST(:valid_before AS bigint[])) AS new(swap_id)
  WHERE new.swap_id = ANY(ARRAY(SELECT id FROM added))
), answered AS (
  UPDATE idempotency SET swap_id = mine.swap_id, answer = mine.answer
  FROM unnest(CAST(:claim_app_id AS uuid[]), CAST(:claim_key AS text[]), CAST(:claim AS uuid[]),
              CAST(:answered_id AS uuid[]), CAST(:answer AS bytea[]))
       AS mine(app_id, key, claim, swap_id, answer)
  WHERE idempotency.app_id = mine.app_id AND idempotency.key = mine.key
    AND idempotency.claim = mine.claim AND mine.swap_id = ANY(ARRAY(SELECT id FROM added))
), announced AS (
  INSERT INTO outbox (message_id, topic, key, payload)
  SELECT new.message_id, new.topic, new.key, new.payload
  FROM unnest(CAST(:message_id AS uuid[]), CAST(:topic AS text[]), CAST(:key AS bytea[]),
              CAST(:payload AS bytea[]), CAST(:id AS uuid[]))
       WITH ORDINALITY AS new(message_id, topic, key, payload, swap_id, n)
  WHERE new.swap_id = ANY(ARRAY(SELECT id FROM added)) ORDER BY new.n
)
SELECT id FROM added
""")
CREATED_SWAP_IDS: Final = sql("SELECT id FROM swap WHERE id = ANY(CAST(:ids AS uuid[]))")

SIGN_COLUMNS: Final = (
    *("swap_id", "signer", "issue", "standard"),
    *("nonce", "valid_after", "valid_before"),
)
CLAIM_COLUMNS: Final = ("claim_app_id", "claim_key", "claim", "answered_id", "answer")


class PostgresCreations:
    """One commit at a time, and one statement each: what came meanwhile is the next.

    Two at a time would be twice as many and half as large; most of a commit's cost does not depend
    on its size.
    """

    def __init__(self, engine: Engine, *, batch_max: int = 128) -> None:
        self._engine = engine
        self._adding: CallBatcher[NewSwap, None] = CallBatcher(self._add_batch, batch_max=batch_max)

    async def add(self, new: NewSwap) -> None:
        """Save the swap, its message and its answer, all or nothing.

        :raises SequenceNumberTaken: when it has to be tried with another number.
        :raises NamesOwnAddress: when one of its addresses belongs to another swap.
        :raises ApiRefusal: when the claim was lost meanwhile.
        :raises Unavailable: when Postgres is away.
        """
        await self._adding(new)

    async def _add_batch(self, batch: Sequence[NewSwap]) -> Sequence[Exception | None]:
        try:
            added = await self._commit(batch)
        except Unavailable as error:
            return await self._after_lost_connection(batch, error)
        except Exception as error:
            if len(batch) == 1:
                return [error]
            # One of them cannot be saved; alone it does not affect the others.
            return [outcome for new in batch for outcome in await self._add_batch([new])]
        crashpoint("api.after_create_commit")
        left = [new for new in batch if new.row.swap.swap_id not in added]
        why = await self._failure_reasons(left) if left else {}
        return [why.get(new.row.swap.swap_id) for new in batch]

    async def _commit(self, batch: Sequence[NewSwap]) -> frozenset[UUID]:
        """Return which were created."""
        crashpoint("api.before_create_commit")
        values = {
            **columns([swap_row(new.row) for new in batch]),
            "claim_of": [None if new.claim is None else new.claim.token for new in batch],
            "message_id": [new.outgoing.message_id for new in batch],
            "topic": [new.outgoing.topic for new in batch],
            "key": [new.outgoing.key for new in batch],
            "payload": [new.outgoing.payload for new in batch],
            **_claims(batch),
            **_sign_requests(batch),
        }
        rows = await execute_alone(self._engine, CREATE_SWAPS, values, wakes=(OUTBOX,))
        created = frozenset(row.id for row in rows)
        if tracing.is_on():
            messages = (new.outgoing for new in batch if new.row.swap.swap_id in created)
            tracing.messages_created(messages)
        return created

    async def _failure_reasons(self, left: Sequence[NewSwap]) -> Mapping[UUID, Exception]:
        """Return the reasons why swaps were not created."""
        claims = [new.claim for new in left if new.claim is not None]
        claimed = {
            "app_id": [claim.app_id for claim in claims],
            "key": [claim.key for claim in claims],
            "claim": [claim.token for claim in claims],
        }
        named = {"addresses": sorted({address for new in left for address in _addresses(new)})}
        try:
            async with reading(self._engine) as connection:
                held = set(await connection.scalars(HELD_CLAIM_IDS, claimed))
                own = set(await connection.scalars(OWN_ADDRESSES, named))
        except Unavailable as error:
            return {new.row.swap.swap_id: error for new in left}
        return {new.row.swap.swap_id: _reason(new, held, own) for new in left}

    async def _after_lost_connection(
        self, batch: Sequence[NewSwap], error: Unavailable
    ) -> Sequence[Exception | None]:
        """Look whether it was committed: a connection lost during COMMIT does not say."""
        ids = [new.row.swap.swap_id for new in batch]
        try:
            async with reading(self._engine) as connection:
                committed = set(await connection.scalars(CREATED_SWAP_IDS, {"ids": ids}))
        except Unavailable:
            return [error] * len(batch)
        return [None if swap_id in committed else error for swap_id in ids]


def _reason(new: NewSwap, held: set[UUID], own: set[str]) -> Exception:
    if new.claim is not None and new.claim.token not in held:
        return in_progress()
    named = own.intersection(_addresses(new))
    # What remains is the unique sequence number: it is drawn at random.
    return NamesOwnAddress(frozenset(named)) if named else SequenceNumberTaken()


def _addresses(new: NewSwap) -> list[str]:
    swap = new.row.swap
    named = swap.destination_address, swap.source_address, swap.refund_address
    return [address.lower() for address in named if address is not None]


def _claims(batch: Sequence[NewSwap]) -> dict[str, list[object]]:
    rows = [
        (new.claim.app_id, new.claim.key, new.claim.token, new.row.swap.swap_id, new.answer)
        for new in batch
        if new.claim is not None
    ]
    return {name: [row[n] for row in rows] for n, name in enumerate(CLAIM_COLUMNS)}


def _sign_requests(batch: Sequence[NewSwap]) -> dict[str, list[object]]:
    rows = [sign_request_row(new.sign_request) for new in batch if new.sign_request is not None]
    return {name: [row[name] for row in rows] for name in SIGN_COLUMNS}


@dataclass(frozen=True, slots=True)
class NewSwap:
    """Everything that one creation saves."""

    row: SwapRow
    outgoing: Outgoing
    claim: Claim | None
    answer: bytes
    sign_request: SignRequest | None = None


class SequenceNumberTaken(Exception):
    """Another swap has the number: take a new one."""


class NamesOwnAddress(Exception):
    """A party of the swap is a deposit address of another swap."""

    def __init__(self, addresses: frozenset[str]) -> None:
        super().__init__()
        self.addresses = addresses  # in lower case
