from __future__ import annotations

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.adapters.sessions import PostgresSessions
from swap_dashboard.domain.accounts import AccountRefused, Session, check_password
from swap_dashboard.ports import Clock

AGAIN = "Sign in by the provider again first: that was too long ago."
HAS_ONE = "The account has a password. Enter the present one to change it."


class SetFirstPassword:
    """Give a password to an account that signs in by the provider, and end every other session.

    A fresh sign-in by the provider stands for the present password, which is random.
    """

    def __init__(
        self,
        accounts: PostgresAccounts,
        passwords: Argon2Passwords,
        sessions: PostgresSessions,
        *,
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._sessions = sessions
        self._clock = clock

    async def is_needed(self, session: Session) -> bool:
        """Whether the account has only a random password."""
        return not (await self._accounts.find_by_id(session.account_id)).has_password

    def is_offered(self, session: Session) -> bool:
        """Whether the sign-in by the provider is fresh."""
        return session.is_fresh_by_provider(self._clock())

    async def __call__(self, session: Session, wanted: str) -> None:
        """
        :raises AccountRefused: when the sign-in by the provider was too long ago, the account has a
            password, or this one cannot be used.
        """
        if not self.is_offered(session):
            raise AccountRefused(AGAIN)
        check_password(wanted, session.email)
        hashed = await self._passwords.hash(wanted)
        if not await self._accounts.set_first_password(session.account_id, hashed, self._clock()):
            raise AccountRefused(HAS_ONE)
        observe.first_password_set(session.account_id)
        ended = await self._sessions.end_all(session.account_id, but=session.id)
        observe.sessions_ended(session.account_id, ended)
