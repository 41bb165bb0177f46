"""What the dashboard needs from an identity provider, in its own words."""

from __future__ import annotations

from typing import Protocol

from swap_dashboard.domain.oidc import OidcRequest


class ProviderUnavailable(Exception):
    """The identity provider does not answer, or its configuration is not usable."""


class ProviderRefused(Exception):
    """The identity provider refuses the sign-in, or its answer does not pass a check."""


class IdentityProvider(Protocol):
    """The OpenID provider of this deployment."""

    async def authorization_url(self, request: OidcRequest) -> str:
        """
        :raises ProviderUnavailable: when the provider does not answer.
        """
        ...

    async def verified_email(self, request: OidcRequest, code: str) -> str:
        """Exchange a code, and return the email that the provider has verified.

        :raises ProviderUnavailable: when the provider does not answer.
        :raises ProviderRefused: when a check fails, or the email is not verified.
        """
        ...
