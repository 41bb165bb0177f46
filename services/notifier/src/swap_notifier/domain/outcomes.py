"""What an answer, or none, means for a message and for its endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from swap_notifier.domain.responses import StoredResponse
from swap_notifier.domain.schedule import pause_after

GONE: Final = 410
ASKS_FOR_TIME: Final = frozenset({429, 503})
FAILING_MAX: Final = timedelta(days=5)


class State(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    DISCARDED = "discarded"  # its endpoint was disabled before it was delivered


class DisabledReason(StrEnum):
    OPERATOR = "operator"  # an operator; only an operator enables it again
    OWNER = "owner"  # a member of its organization
    GONE = "gone"  # it answered 410
    FAILING = "failing"  # nothing but failures for too long


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """One message, taken to be sent now, with what its endpoint needs."""

    message_id: str
    swap_id: UUID | None  # None for what is about no swap: tests and notices
    claim: UUID
    endpoint_id: UUID
    event_type: str
    body: bytes
    attempts: int  # made before this one
    url: str
    secrets: tuple[str, ...]  # the newest first; every one signs
    failing_since: datetime | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. Without a status no usable answer arrived, and `error` has the reason."""

    http_status: int | None
    error: str | None
    retry_after: timedelta | None
    milliseconds: int
    # Empty when the message could not be signed.
    request_headers: Mapping[str, str] = field(default_factory=dict)
    response: StoredResponse | None = None

    @property
    def is_success(self) -> bool:
        return self.http_status is not None and 200 <= self.http_status < 300  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """What one attempt changes."""

    claimed: ClaimedMessage
    answer: Answer
    at: datetime
    state: State
    due_at: datetime  # of the next attempt, while there is one
    disables: DisabledReason | None
    again_at: datetime | None = None  # of the next attempt, should it disable nothing after all

    @property
    def attempts(self) -> int:
        return self.claimed.attempts + 1

    def without_disabling(self) -> AttemptOutcome:
        """Return what follows where the endpoint answered since this was claimed."""
        if self.again_at is None:
            return replace(self, disables=None)
        return replace(self, state=State.WAITING, due_at=self.again_at, disables=None)


def outcome_of(
    claimed: ClaimedMessage, answer: Answer, *, at: datetime, jitter_ppm: int
) -> AttemptOutcome:
    """Decide what follows from an answer."""
    if answer.is_success:
        return AttemptOutcome(claimed, answer, at, State.DELIVERED, at, None)
    disables = _disables(claimed, answer, at)
    retry_after = answer.retry_after if answer.http_status in ASKS_FOR_TIME else None
    pause = pause_after(claimed.attempts + 1, retry_after=retry_after, jitter_ppm=jitter_ppm)
    again_at = None if pause is None else at + pause
    if again_at is None or disables is not None:
        return AttemptOutcome(claimed, answer, at, State.FAILED, at, disables, again_at)
    return AttemptOutcome(claimed, answer, at, State.WAITING, again_at, None)


def _disables(claimed: ClaimedMessage, answer: Answer, at: datetime) -> DisabledReason | None:
    if answer.http_status == GONE:
        return DisabledReason.GONE
    if claimed.failing_since is not None and at - claimed.failing_since >= FAILING_MAX:
        return DisabledReason.FAILING
    return None
