"""Between rows and the notifier's own data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson

from swap_notifier.adapters.models import EndpointFacts
from swap_notifier.domain.endpoints import Endpoint
from swap_notifier.domain.outcomes import AttemptOutcome, ClaimedMessage
from swap_runtime.postgres.models import read_row
from swap_runtime.postgres.sql import Row


def outcome_row(outcome: AttemptOutcome) -> dict[str, object]:
    response = outcome.answer.response
    return {
        "message_id": outcome.claimed.message_id,
        "claim": outcome.claimed.claim,
        "endpoint_id": outcome.claimed.endpoint_id,
        "attempt": outcome.attempts,
        "at": outcome.at,
        "milliseconds": outcome.answer.milliseconds,
        "http_status": outcome.answer.http_status,
        "error": outcome.answer.error,
        "request_headers": _json(outcome.answer.request_headers),
        "response_headers": None if response is None else _json(response.headers),
        "response_body": None if response is None else response.body,
        "response_body_is_cut": response is not None and response.is_cut,
        "state": outcome.state.value,
        "due_at": outcome.due_at,
    }


def to_claimed(row: Row, claim: UUID, secrets: tuple[str, ...]) -> ClaimedMessage:
    return ClaimedMessage(
        message_id=row.id,
        swap_id=row.swap_id,
        claim=claim,
        endpoint_id=row.endpoint_id,
        event_type=row.event_type,
        body=row.body,
        attempts=row.attempts,
        url=row.url,
        secrets=secrets,
        failing_since=row.failing_since,
    )


def to_endpoint(row: Row) -> Endpoint:
    return Endpoint(**read_row(EndpointFacts, row).model_dump())


def _json(headers: Mapping[str, str]) -> str:
    return orjson.dumps(dict(headers)).decode()


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one swap, rendered for every endpoint of the app."""

    app_id: UUID
    swap_id: UUID
    sequence: int
    event_type: str
    changed_at: datetime
    body: bytes
