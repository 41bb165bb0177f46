from __future__ import annotations

from uuid import UUID

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.api import HttpApi
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.domain.accounts import Account, check_invited, check_password, to_email
from swap_dashboard.ports import Clock, EmailTaken, Invitation, NewId


class AcceptInvitation:
    """Take an invitation: make an account, or add an organization to one.

    The api stores no emails. An invitation to one is therefore bound to it here: members and the
    log name the invited email, and another account would act under it.
    """

    def __init__(
        self,
        accounts: PostgresAccounts,
        api: HttpApi,
        passwords: Argon2Passwords,
        *,
        clock: Clock,
        new_id: NewId,
    ) -> None:
        self._accounts = accounts
        self._api = api
        self._passwords = passwords
        self._clock = clock
        self._new_id = new_id

    async def inspect(self, invitation: str, *, address: str) -> Invitation:
        """Return what an invitation is for.

        :param address: of the client, here and below: the api limits the rate of each address.
        :raises ApiRefused: when the invitation is unknown, taken, revoked or expired.
        :raises ApiUnavailable: when the api does not answer.
        """
        return await self._api.inspect(invitation, address=address)

    async def with_new_account(
        self,
        invitation: str,
        email: str,
        password: str,
        *,
        address: str,
        invited: Invitation | None = None,
    ) -> Account:
        """Make an account. The invitation is taken last: it can be taken once.

        :param invited: what the invitation is for, where the caller has read it.
        :raises AccountRefused: when the email or the password cannot be used, or the invitation
            is bound to another email.
        :raises EmailTaken: when there is an account: its owner signs in first.
        :raises ApiRefused: when the invitation is unknown, taken, revoked or expired.
        :raises ApiUnavailable: when the api does not answer.
        """
        email = to_email(email)
        check_password(password, email)
        invited = invited or await self.inspect(invitation, address=address)
        check_invited(invited.name, email)
        if await self._accounts.find(email) is not None:
            raise EmailTaken
        password_hash = await self._passwords.hash(password)
        account = Account(self._new_id(), email, password_hash)
        joined = await self._api.accept(invitation, address=address)
        now = self._clock()
        await self._accounts.add(account, now)
        await self._accounts.add_membership(account.id, joined, now)
        observe.account_added(account.id, joined.organization_id)
        return account

    async def for_account(
        self,
        invitation: str,
        account_id: UUID,
        email: str,
        *,
        address: str,
        invited: Invitation | None = None,
    ) -> UUID:
        """Add an organization to an account, and return the membership.

        :param email: of the account.
        :param invited: what the invitation is for, where the caller has read it.
        :raises AccountRefused: when the invitation is bound to another email.
        :raises ApiRefused: when the invitation is unknown, taken, revoked or expired.
        :raises ApiUnavailable: when the api does not answer.
        """
        invited = invited or await self.inspect(invitation, address=address)
        check_invited(invited.name, email)
        joined = await self._api.accept(invitation, address=address)
        await self._accounts.add_membership(account_id, joined, self._clock())
        return joined.id

    async def for_email(self, invitation: str, email: str, *, address: str) -> UUID | None:
        """Add an organization to the account of an email; None without an account.

        :raises AccountRefused: when it is no email, or the invitation is bound to another one.
        :raises ApiRefused: when the invitation is unknown, taken, revoked or expired.
        :raises ApiUnavailable: when the api does not answer.
        """
        account = await self._accounts.find(to_email(email))
        if account is None:
            return None
        return await self.for_account(invitation, account.id, account.email, address=address)
