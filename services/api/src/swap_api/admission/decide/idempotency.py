"""The right to answer a request with an idempotency key, and the first answer."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to answer a request with an idempotency key."""

    app_id: UUID  # or who else owns the key: see `model.keys.idempotency_owner`
    key: str
    body_hash: bytes
    token: UUID


@dataclass(frozen=True, slots=True)
class Replay:
    """The first answer to the same request."""

    answer: bytes
