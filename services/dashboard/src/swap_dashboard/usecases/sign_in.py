"""Signs a user in by a password or a link, and finishes every sign-in, also one by a provider."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.adapters.second_factors import PostgresPendingSignIns, PostgresSecondFactors
from swap_dashboard.adapters.sessions import PostgresSignInLinks
from swap_dashboard.adapters.throttling import PostgresThrottle
from swap_dashboard.domain.accounts import Account, AccountRefused, to_email
from swap_dashboard.domain.second_factor import PENDING_LIFETIME, PendingSignIn
from swap_dashboard.domain.throttling import failure_counters
from swap_dashboard.ports import Clock, NewToken
from swap_dashboard.usecases.open_session import (
    Browser,
    OpenSession,
    PasswordReplaced,
    hash_token,
)

PROVIDER: Final = "provider"
LINK: Final = "link"
RECOVERY_CODES_ALONE: Final = "Codes of a device cannot be checked now. Use a recovery code."


class SignInRefused(Exception):
    """Raised alike for an unknown email and for a wrong password.

    A text says what to do instead; without one, the page has its own text.
    """


class SignInBlocked(Exception):
    """There were too many failures; the text has the pause."""

    def __init__(self, until: datetime, *, now: datetime) -> None:
        seconds = int((until - now).total_seconds()) + 1
        super().__init__(f"Too many attempts. Try again in {seconds} s.")


@dataclass(frozen=True, slots=True)
class SignInStep:
    """How far a sign-in got: a session, or the token of one that waits for a code."""

    session: str = ""
    pending: str = ""
    notice: str | None = None  # shown above the field for the code


class FinishSignIn:
    """Open a session, or wait for a code where the account has a second factor."""

    def __init__(
        self,
        factors: PostgresSecondFactors,
        pending: PostgresPendingSignIns,
        open_session: OpenSession,
        *,
        clock: Clock,
        new_token: NewToken,
    ) -> None:
        self._factors = factors
        self._pending = pending
        self._open_session = open_session
        self._clock = clock
        self._new_token = new_token

    async def __call__(self, account: Account, browser: Browser, *, by: str) -> SignInStep:
        """
        :param account: as it was when the sign-in was checked.
        :raises SignInRefused: when its password was replaced meanwhile.
        """
        factor = await self._factors.find(account.id)
        is_by_provider, is_by_link = by == PROVIDER, by == LINK
        if factor is None or not factor.is_confirmed:
            try:
                opened = await self._open_session(
                    account, browser, by=by, is_by_provider=is_by_provider, is_by_link=is_by_link
                )
            except PasswordReplaced:
                observe.sign_in_failed()
                raise SignInRefused from None
            return SignInStep(session=opened)
        notice = None
        if factor.secret is None:
            observe.second_factor_unreadable(account.id)
            notice = RECOVERY_CODES_ALONE
        await self._factors.seal_anew(account.id, factor)
        token, ends_at = self._new_token(), self._clock() + PENDING_LIFETIME
        pending = PendingSignIn(account.id, is_by_provider=is_by_provider, is_by_link=is_by_link)
        hashed, password_hash = hash_token(token), account.password_hash
        if not await self._pending.add(hashed, pending, ends_at, password_hash=password_hash):
            observe.sign_in_failed()
            raise SignInRefused
        return SignInStep(pending=token, notice=notice)


class SignIn:
    """Sign a user in by a password."""

    def __init__(
        self,
        accounts: PostgresAccounts,
        passwords: Argon2Passwords,
        throttle: PostgresThrottle,
        finish: FinishSignIn,
        *,
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._throttle = throttle
        self._finish = finish
        self._clock = clock

    async def __call__(self, email: str, password: str, browser: Browser) -> SignInStep:
        """Return a new session, or the step that needs a code.

        :raises SignInBlocked: after too many failures, also with the right password.
        :raises SignInRefused: when no account has this email with this password.
        """
        email = _normalized_email(email)
        counted = failure_counters(email, browser.address)
        now = self._clock()
        until = await self._throttle.begin(counted, now)
        if until is not None:
            observe.sign_in_blocked()
            raise SignInBlocked(until, now=now)
        account = await self._accounts.find(email)
        known = None if account is None else account.password_hash
        if not await self._passwords.matches(known, password) or account is None:
            observe.sign_in_failed()
            raise SignInRefused
        await self._throttle.succeed(counted)
        return await self._finish(account, browser, by="password")


class SignInByLink:
    """Sign a user in by a link that an operator made."""

    def __init__(
        self,
        accounts: PostgresAccounts,
        links: PostgresSignInLinks,
        finish: FinishSignIn,
        *,
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._links = links
        self._finish = finish
        self._clock = clock

    async def email_of(self, link: str) -> str | None:
        """Return the account of a link, and leave the link unused."""
        return await self._links.account_of(hash_token(link), self._clock())

    async def __call__(self, link: str, browser: Browser) -> SignInStep:
        """Take the link and return a new session, or the step that needs a code.

        :raises SignInRefused: when it is unknown, taken or expired.
        """
        # Read first: after a later change of the password, the link or the session is refused.
        email = await self.email_of(link)
        account = None if email is None else await self._accounts.find(email)
        owner_id = await self._links.take(hash_token(link), self._clock())
        if account is None or owner_id is None:
            observe.sign_in_failed()
            raise SignInRefused
        return await self._finish(account, browser, by=LINK)


def _normalized_email(email: str) -> str:
    try:
        return to_email(email)
    except AccountRefused:
        return ""  # no account has it
