"""Sessions and failures to sign in, in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_dashboard.console.domain.attempts import FORGOTTEN_AFTER, Failures
from swap_dashboard.console.domain.sessions import OperatorSession

SESSIONS_PER_OPERATOR_MAX: Final = 10
ADDRESSES_MAX: Final = 10_000


class MemorySessions:
    """The sessions of this process.

    A restart ends all of them, and no copy of a database has an operator's token.
    """

    def __init__(self, *, idle: timedelta, lifetime: timedelta) -> None:
        self._idle = idle
        self._lifetime = lifetime
        self._by_hash: dict[bytes, OperatorSession] = {}

    def add(self, session: OperatorSession, token_hash: bytes) -> None:
        """Add one; of an operator with too many the oldest ends."""
        self._forget_ended(session.created_at)
        own = [one for one in self._by_hash.values() if one.name == session.name]
        if len(own) >= SESSIONS_PER_OPERATOR_MAX:
            self.end(min(own, key=lambda one: one.last_seen_at).id, session.name)
        self._by_hash[token_hash] = session

    def find(self, token_hash: bytes, at: datetime) -> OperatorSession | None:
        """Return the session of a cookie, and note its use; None when it ended."""
        self._forget_ended(at)
        session = self._by_hash.get(token_hash)
        if session is not None:
            session.last_seen_at = at
        return session

    def list_of(self, name: str, at: datetime) -> list[OperatorSession]:
        self._forget_ended(at)
        own = [one for one in self._by_hash.values() if one.name == name]
        return sorted(own, key=lambda one: one.last_seen_at, reverse=True)

    def end(self, session_id: UUID, name: str) -> None:
        self._retain(lambda one: not (one.id == session_id and one.name == name))

    def end_all(self, name: str) -> int:
        before = len(self._by_hash)
        self._retain(lambda one: one.name != name)
        return before - len(self._by_hash)

    def _has_ended(self, session: OperatorSession, at: datetime) -> bool:
        is_idle = at > session.last_seen_at + self._idle
        return is_idle or at > session.created_at + self._lifetime

    def _forget_ended(self, at: datetime) -> None:
        self._retain(lambda one: not self._has_ended(one, at))

    def _retain(self, is_retained: Callable[[OperatorSession], bool]) -> None:
        self._by_hash = {key: one for key, one in self._by_hash.items() if is_retained(one)}


class MemoryAttempts:
    """Failures to sign in, by the address of the client.

    Bounded: of more addresses than it has room for, the oldest failure is forgotten.
    """

    def __init__(self) -> None:
        self._by_address: dict[str, Failures] = {}

    def begin(self, address: str, at: datetime) -> datetime | None:
        """Count an attempt as failed before it is made; return until when it is refused."""
        known = self._by_address.get(address)
        if known is None or at > known.last_at + FORGOTTEN_AFTER:
            self._by_address.pop(address, None)
            while len(self._by_address) >= ADDRESSES_MAX:
                del self._by_address[next(iter(self._by_address))]
            known = self._by_address[address] = Failures(0, at, at)
        if at < known.blocked_until:
            return known.blocked_until
        known.add(at)
        return None

    def succeed(self, address: str) -> None:
        self._by_address.pop(address, None)

    def take_back(self, address: str) -> None:
        """Uncount one attempt: no service could say whether its token is right."""
        known = self._by_address.get(address)
        if known is not None:
            known.take_back()
