"""Lists of messages."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
SEQUENCE_MAX: Final = 2**31 - 1  # an `int` of Postgres


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands in a list: all that lists are ordered by.

    It stays the same when the message moves on: the next part follows the one that was read.
    """

    ended_at: datetime | None  # None while it waits
    due_at: datetime
    sequence: int
    id: str

    def to_text(self) -> str:
        ended_at = None if self.ended_at is None else self.ended_at.isoformat()
        place = [ended_at, self.due_at.isoformat(), self.sequence, self.id]
        return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")

    @classmethod
    def from_text(cls, text: str) -> Place:
        """
        :raises ValueError: when the text is no place.
        """
        padded = text + "=" * (-len(text) % 4)
        try:
            ended_at, due_at, sequence, id = json.loads(urlsafe_b64decode(padded))
            return cls(
                None if ended_at is None else _to_moment(ended_at),
                _to_moment(due_at),
                _to_sequence(sequence),
                _to_id(id),
            )
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError("is no place of a list") from error


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted."""

    limit: int
    offset: int
    after: Place | None = None  # it begins behind this place


@dataclass(frozen=True, slots=True)
class MessagePage:
    """A part of a list of messages."""

    messages: Sequence[Mapping[str, Any]]
    total: int  # counted up to a bound
    has_more: bool
    next: str | None = None  # the place that the next part begins behind


def _to_moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a moment without a zone")
    return moment


def _to_sequence(number: object) -> int:
    if type(number) is not int or not 0 <= number <= SEQUENCE_MAX:
        raise ValueError("no sequence")
    return number


def _to_id(text: str) -> str:
    if not ID.fullmatch(text):
        raise ValueError("no id")
    return text
