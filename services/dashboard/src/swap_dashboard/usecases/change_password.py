from __future__ import annotations

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.adapters.sessions import PostgresSessions
from swap_dashboard.adapters.throttling import PostgresThrottle
from swap_dashboard.domain.accounts import Session, check_password
from swap_dashboard.domain.throttling import failure_counters
from swap_dashboard.ports import Clock
from swap_dashboard.usecases.sign_in import SignInBlocked, SignInRefused


class ChangePassword:
    """Change the password after a check of the old one, and end every other session."""

    def __init__(
        self,
        accounts: PostgresAccounts,
        passwords: Argon2Passwords,
        sessions: PostgresSessions,
        throttle: PostgresThrottle,
        *,
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._sessions = sessions
        self._throttle = throttle
        self._clock = clock

    async def __call__(self, session: Session, known: str, wanted: str) -> None:
        """
        :raises SignInBlocked: after too many failures.
        :raises SignInRefused: when the present password is another one.
        :raises AccountRefused: when the new one cannot be used.
        """
        account = await self._accounts.find_by_id(session.account_id)
        counted, now = failure_counters(account.email, session.address), self._clock()
        until = await self._throttle.begin(counted, now)
        if until is not None:
            raise SignInBlocked(until, now=now)
        if not await self._passwords.matches(account.password_hash, known):
            raise SignInRefused
        await self._throttle.succeed(counted)
        check_password(wanted, account.email)
        await self._accounts.set_password(account.id, await self._passwords.hash(wanted), now)
        observe.sessions_ended(account.id, await self._sessions.end_all(account.id, but=session.id))
