"""A user's signature that deposits for a swap, and how far it got."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from swap_domain.authorization_status import (
    AuthorizationStatus,
    AuthorizationTrigger,
    next_authorization_status,
)
from swap_domain.gasless import MINED_WITHIN

IN_PROGRESS = (
    AuthorizationStatus.INITIATED,
    AuthorizationStatus.PUBLISHED,
    AuthorizationStatus.COMPLETED,
)


@dataclass(frozen=True, slots=True)
class SubmittedSignature:
    """A signature that came, with the Paymaster's call that it is for."""

    submission: int
    standard: str
    signer: str
    base_units: int
    nonce: str
    valid_after: int
    valid_before: int
    paymaster: str
    call_data: bytes

    @property
    def not_after(self) -> datetime:
        """The moment after which nothing is signed for it."""
        return datetime.fromtimestamp(self.valid_before, UTC) - MINED_WITHIN


@dataclass(frozen=True, slots=True)
class Authorization:
    submission: int
    intent_id: UUID | None  # None: refused at once
    standard: str
    signer: str
    base_units: int
    nonce: str
    valid_after: int
    valid_before: int
    status: AuthorizationStatus
    detail: str | None
    transaction_hash: str | None
    submitted_at: datetime

    @property
    def is_in_progress(self) -> bool:
        return self.status in IN_PROGRESS

    def with_trigger(
        self, trigger: AuthorizationTrigger, *, detail: str | None = None
    ) -> Authorization:
        status = next_authorization_status(self.status, trigger)
        return replace(self, status=status, detail=detail)
