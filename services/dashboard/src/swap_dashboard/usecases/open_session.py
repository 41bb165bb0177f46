from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.sessions import PostgresSessions
from swap_dashboard.domain.accounts import Account, Session
from swap_dashboard.ports import Clock, NewId, NewToken
from swap_dashboard.usecases.renew_token import RenewToken

BROWSER_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class Browser:
    """The client of a session, with the data that the list of sessions shows."""

    name: str
    address: str


class PasswordReplaced(Exception):
    """The account's password was replaced after the sign-in began."""


class OpenSession:
    """Open a session with a new token, and ignore the browser's cookie."""

    def __init__(
        self,
        accounts: PostgresAccounts,
        sessions: PostgresSessions,
        renew_token: RenewToken,
        *,
        lifetime: timedelta,
        clock: Clock,
        new_id: NewId,
        new_token: NewToken,
    ) -> None:
        self._accounts = accounts
        self._sessions = sessions
        self._renew_token = renew_token
        self._lifetime = lifetime
        self._clock = clock
        self._new_id = new_id
        self._new_token = new_token

    async def __call__(
        self,
        account: Account,
        browser: Browser,
        *,
        by: str,
        is_by_provider: bool = False,
        is_by_link: bool = False,
    ) -> str:
        """Return the token, which is stored as a hash.

        :param account: as it was when the sign-in was checked.
        :raises PasswordReplaced: when it has another password by now: that ended its sessions.
        """
        now, token = self._clock(), self._new_token()
        memberships = await self._accounts.memberships(account.id)
        session = Session(
            id=self._new_id(),
            account_id=account.id,
            email=account.email,
            membership_id=memberships[0].id if memberships else None,
            created_at=now,
            last_seen_at=now,
            expires_at=now + self._lifetime,
            browser=browser.name[:BROWSER_MAX],
            address=browser.address,
            is_by_provider=is_by_provider,
            is_by_link=is_by_link,
        )
        hashed = hash_token(token)
        if not await self._sessions.add(session, hashed, password_hash=account.password_hash):
            raise PasswordReplaced
        for membership in memberships:
            await self._renew_token(membership)
        observe.signed_in(account.id, by=by)
        return token


class FindSession:
    """Find the session of a browser's token."""

    def __init__(self, sessions: PostgresSessions, *, idle: timedelta, clock: Clock) -> None:
        self._sessions = sessions
        self._idle = idle
        self._clock = clock

    async def __call__(self, token: str, *, is_use: bool = True) -> Session | None:
        """
        :param is_use: False for what a page asks by itself: an open page keeps no session alive.
        """
        now = self._clock()
        hashed, idle_since = hash_token(token), now - self._idle
        return await self._sessions.find(hashed, now, idle_since, is_use=is_use)

    async def list_open(self, account_id: UUID) -> list[Session]:
        now = self._clock()
        return list(await self._sessions.list_open(account_id, now, now - self._idle))


def hash_token(token: str) -> bytes:
    """Return what is stored of a token: it has 256 random bits, so one round is enough."""
    return sha256(token.encode()).digest()
