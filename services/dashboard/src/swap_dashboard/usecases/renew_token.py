from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.api import HttpApi
from swap_dashboard.domain.accounts import Membership
from swap_dashboard.ports import ApiRefused, ApiUnavailable, Clock, MemberToken
from swap_runtime.sealing import Unreadable

RENEWED_BEFORE: Final = timedelta(days=30)  # of the ninety that a token is valid
LABEL: Final = "dashboard"


class RenewToken:
    """Replace a member's token before it ends, at a sign-in."""

    def __init__(
        self,
        accounts: PostgresAccounts,
        api: HttpApi,
        *,
        to_token: Callable[[Mapping[str, Any]], MemberToken],
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._api = api
        self._to_token = to_token
        self._clock = clock

    async def __call__(self, membership: Membership) -> None:
        """Renew where it is time; where the api refuses, the token stays as it is."""
        if membership.token_expires_at - self._clock() > RENEWED_BEFORE:
            return
        try:
            member = self._api.as_member(await self._accounts.token(membership.id))
            made = await member.post("/me/tokens", {"label": LABEL})
        except (ApiRefused, ApiUnavailable, Unreadable) as error:
            observe.token_not_renewed(membership.id, str(error))
            return
        await self._accounts.replace_token(membership.id, self._to_token(made.data))
        observe.token_renewed(membership.id)
