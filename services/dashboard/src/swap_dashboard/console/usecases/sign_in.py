"""Signs an operator in by the token of an identity of the deployment."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Final

from swap_dashboard.console import observe
from swap_dashboard.console.adapters.operator_api import HttpServices
from swap_dashboard.console.domain.memory import MemoryAttempts, MemorySessions
from swap_dashboard.console.domain.sessions import OperatorSession
from swap_dashboard.console.ports import ServiceUnavailable
from swap_dashboard.ports import Clock, NewId, NewToken

ROLES: Final = frozenset({"viewer", "operator"})
TOKEN_MAX: Final = 500
BROWSER_MAX: Final = 300


class SignInRefused(Exception):
    """No operator or viewer has this token."""


class SignInBlocked(Exception):
    """There were too many failures; the text has the pause."""

    def __init__(self, until: datetime, *, now: datetime) -> None:
        seconds = int((until - now).total_seconds()) + 1
        super().__init__(f"Too many attempts. Try again in {seconds} s.")


class SignIn:
    def __init__(
        self,
        services: HttpServices,
        sessions: MemorySessions,
        attempts: MemoryAttempts,
        *,
        clock: Clock,
        new_id: NewId,
        new_token: NewToken,
    ) -> None:
        self._services = services
        self._sessions = sessions
        self._attempts = attempts
        self._clock = clock
        self._new_id = new_id
        self._new_token = new_token

    async def __call__(self, token: str, *, browser: str, address: str) -> str:
        """Open a session, whatever the browser brought, and return its own token.

        :raises SignInBlocked: after too many failures, also with a token that is right.
        :raises SignInRefused: when no operator or viewer has it.
        :raises ServiceUnavailable: when no service answers.
        """
        now = self._clock()
        until = self._attempts.begin(address, now)
        if until is not None:
            observe.sign_in_blocked(address)
            raise SignInBlocked(until, now=now)
        is_token = token.isascii() and token.isprintable() and 0 < len(token) <= TOKEN_MAX
        try:
            identity = await self._services.identify(token) if is_token else None
        except ServiceUnavailable:
            self._attempts.take_back(address)
            raise
        if identity is None or identity.role not in ROLES:
            observe.sign_in_failed(address)
            raise SignInRefused
        self._attempts.succeed(address)
        secret = self._new_token()
        session = OperatorSession(
            id=self._new_id(),
            name=identity.name,
            role=identity.role,
            token=token,
            created_at=now,
            last_seen_at=now,
            browser=browser[:BROWSER_MAX],
            address=address,
        )
        self._sessions.add(session, hash_secret(secret))
        observe.signed_in(identity.name, address)
        return secret


def hash_secret(secret: str) -> bytes:
    """Return what a cookie is found by: a copy of the memory's keys opens no session."""
    return sha256(secret.encode()).digest()
