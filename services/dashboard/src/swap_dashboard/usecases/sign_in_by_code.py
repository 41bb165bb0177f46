"""Ends a sign-in that waits for a code."""

from __future__ import annotations

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.second_factors import PostgresPendingSignIns
from swap_dashboard.ports import Clock
from swap_dashboard.usecases.check_code import CheckCode
from swap_dashboard.usecases.open_session import (
    Browser,
    OpenSession,
    PasswordReplaced,
    hash_token,
)
from swap_dashboard.usecases.sign_in import SignInRefused


class SignInEnded(Exception):
    """The password was entered too long ago or was replaced, or the sign-in is over."""


class SignInByCode:
    def __init__(
        self,
        accounts: PostgresAccounts,
        pending: PostgresPendingSignIns,
        check_code: CheckCode,
        open_session: OpenSession,
        *,
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._pending = pending
        self._check_code = check_code
        self._open_session = open_session
        self._clock = clock

    async def __call__(self, token: str, code: str, browser: Browser) -> str:
        """Return the token of a new session.

        :raises SignInEnded: when it has to begin again.
        :raises SignInBlocked: after too many failures.
        :raises SignInRefused: when the code is wrong, or was used.
        """
        hashed = hash_token(token)
        pending = await self._pending.find(hashed, self._clock())
        if pending is None:
            raise SignInEnded
        try:
            await self._check_code(pending.account_id, code, address=browser.address)
        except SignInRefused:
            observe.sign_in_failed()
            raise
        # Read before the end: a replaced password ends the sign-ins that wait.
        account = await self._accounts.find_by_id(pending.account_id)
        if not await self._pending.end(hashed, self._clock()):
            raise SignInEnded
        try:
            return await self._open_session(
                account,
                browser,
                by="code",
                is_by_provider=pending.is_by_provider,
                is_by_link=pending.is_by_link,
            )
        except PasswordReplaced:
            observe.sign_in_failed()
            raise SignInEnded from None
