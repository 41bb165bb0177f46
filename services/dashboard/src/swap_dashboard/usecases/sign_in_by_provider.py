"""Signs a user in by an identity provider."""

from __future__ import annotations

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.oidc import OpenIdProvider
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.domain.accounts import Account, AccountRefused, to_email
from swap_dashboard.domain.oidc import OidcRequest, ProviderRefused
from swap_dashboard.ports import Clock, NewToken
from swap_dashboard.usecases.accept_invitation import AcceptInvitation
from swap_dashboard.usecases.open_session import Browser
from swap_dashboard.usecases.sign_in import PROVIDER, FinishSignIn, SignInRefused, SignInStep

NO_ACCOUNT = "No account has the email of this sign-in. Open the link of your invitation first."


class SignInByProvider:
    """Sign in the account of a verified email; an invitation makes one, or joins with it.

    An account's second factor is still required: the provider's own checks are unknown here. Who
    made an account need not own its email. The first sign-in by the provider therefore ends the
    account's password and sessions. Otherwise their holder would share it with the owner.
    """

    def __init__(
        self,
        provider: OpenIdProvider,
        accounts: PostgresAccounts,
        accept_invitation: AcceptInvitation,
        finish: FinishSignIn,
        passwords: Argon2Passwords,
        *,
        clock: Clock,
        new_token: NewToken,
    ) -> None:
        self._provider = provider
        self._accounts = accounts
        self._accept_invitation = accept_invitation
        self._finish = finish
        self._passwords = passwords
        self._clock = clock
        self._new_token = new_token

    async def begin(self, request: OidcRequest) -> str:
        """Return where the browser is sent.

        :raises ProviderUnavailable: when the provider does not answer.
        """
        return await self._provider.authorization_url(request)

    async def __call__(self, request: OidcRequest, code: str, browser: Browser) -> SignInStep:
        """Return a new session, or the step that needs a code.

        :raises SignInRefused: when the provider refuses, or no account has the email.
        :raises ProviderUnavailable: when the provider does not answer.
        :raises AccountRefused: when the invitation is bound to another email.
        :raises ApiRefused: when the invitation is unknown, taken, revoked or expired.
        :raises ApiUnavailable: when the api does not answer.
        """
        try:
            email = to_email(await self._provider.verified_email(request, code))
        except (ProviderRefused, AccountRefused) as error:
            observe.provider_refused(str(error))
            observe.sign_in_failed()
            raise SignInRefused from None
        account = await self._accounts.find(email)
        if account is None and not request.invitation:
            observe.sign_in_failed()
            raise SignInRefused(NO_ACCOUNT)
        if account is None:
            # This password is unknown to everyone: the account signs in by the provider or by a
            # link.
            account = await self._accept_invitation.with_new_account(
                request.invitation, email, self._new_token(), address=browser.address
            )
            account = await self._confirm(account)
        else:
            account = await self._confirm(account)
            if request.invitation:
                await self._accept_invitation.for_account(
                    request.invitation, account.id, account.email, address=browser.address
                )
        return await self._finish(account, browser, by=PROVIDER)

    async def _confirm(self, account: Account) -> Account:
        """Return the account with its email confirmed."""
        if account.is_email_confirmed:
            return account
        unknown = await self._passwords.hash(self._new_token())
        await self._accounts.confirm_email(account.id, unknown, self._clock())
        return await self._accounts.find_by_id(account.id)
