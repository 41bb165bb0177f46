from __future__ import annotations

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.domain.accounts import (
    FRESH_WITHIN,
    AccountRefused,
    Session,
    check_password,
)
from swap_dashboard.ports import Clock

TOO_LATE = "Ask for another sign-in link: a new password is set within ten minutes, and once."


class ReplaceLostPassword:
    """Set a new password without the lost one, and end every other session.

    A fresh sign-in by an operator's link stands for the lost password. The account's other links
    and the sign-ins that wait for a code end with it.
    """

    def __init__(
        self, accounts: PostgresAccounts, passwords: Argon2Passwords, *, clock: Clock
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._clock = clock

    def is_offered(self, session: Session) -> bool:
        """Whether the sign-in by a link is fresh, and was not used for this."""
        return session.is_fresh_by_link(self._clock())

    async def __call__(self, session: Session, wanted: str) -> None:
        """
        :raises AccountRefused: when the session did not begin by a link just now, or the password
            cannot be used.
        """
        if not self.is_offered(session):
            raise AccountRefused(TOO_LATE)
        check_password(wanted, session.email)
        hashed = await self._passwords.hash(wanted)
        now = self._clock()
        if not await self._accounts.replace_lost_password(
            session, hashed, now, since=now - FRESH_WITHIN
        ):
            raise AccountRefused(TOO_LATE)
        observe.lost_password_replaced(session.account_id)
