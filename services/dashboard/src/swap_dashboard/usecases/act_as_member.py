from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.api import HttpApi
from swap_dashboard.domain.accounts import Membership
from swap_dashboard.ports import MemberApi


class ActAsMember:
    """List an account's memberships, and open the api with the token of one."""

    def __init__(self, accounts: PostgresAccounts, api: HttpApi) -> None:
        self._accounts = accounts
        self._api = api

    async def memberships(self, account_id: UUID) -> Sequence[Membership]:
        return await self._accounts.memberships(account_id)

    async def __call__(self, membership: Membership) -> MemberApi:
        """
        :raises Unreadable: when none of the keys opens the membership's token.
        """
        return self._api.as_member(await self._accounts.token(membership.id))
