from __future__ import annotations

from datetime import timedelta

from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.sessions import PostgresSignInLinks
from swap_dashboard.domain.accounts import to_email
from swap_dashboard.ports import Clock, NewToken
from swap_dashboard.usecases.open_session import hash_token


class MakeSignInLink:
    """Make a link that signs a user in, once, for an operator to pass on."""

    def __init__(
        self,
        accounts: PostgresAccounts,
        links: PostgresSignInLinks,
        *,
        public_url: str,
        lifetime: timedelta,
        clock: Clock,
        new_token: NewToken,
    ) -> None:
        self._accounts = accounts
        self._links = links
        self._public_url = public_url
        self._lifetime = lifetime
        self._clock = clock
        self._new_token = new_token

    async def __call__(self, email: str) -> str | None:
        """Return the link; None without an account.

        :raises AccountRefused: when it is no email.
        """
        account = await self._accounts.find(to_email(email))
        if account is None:
            return None
        token = self._new_token()
        await self._links.add(hash_token(token), account.id, self._clock() + self._lifetime)
        return f"{self._public_url}/sign-in/link?token={token}"
