"""A sign-in by a provider names the browser's address where it takes an invitation."""

from __future__ import annotations

from typing import Any, cast
from uuid import uuid4

import pytest

from swap_dashboard.domain.accounts import Account
from swap_dashboard.domain.oidc import OidcRequest
from swap_dashboard.usecases.open_session import Browser
from swap_dashboard.usecases.sign_in import SignInStep
from swap_dashboard.usecases.sign_in_by_provider import SignInByProvider

ADDRESS = "198.51.100.4"
KNOWN = Account(uuid4(), "ada@shop.example", "hash", is_email_confirmed=True)


class Recorder:
    """Plays everything around the use case, and records the addresses of clients."""

    def __init__(self, account: Account | None) -> None:
        self.addresses: list[str] = []
        self._account = account

    async def verified_email(self, request: OidcRequest, code: str) -> str:
        return KNOWN.email

    async def find(self, email: str) -> Account | None:
        return self._account

    async def with_new_account(self, *_: str, address: str) -> Account:
        self.addresses.append(address)
        return KNOWN

    async def for_account(self, *_: Any, address: str) -> None:
        self.addresses.append(address)


@pytest.mark.parametrize("account", [None, KNOWN])
async def test_invitation_is_accepted_with_the_browsers_address(account: Account | None) -> None:
    recorder = Recorder(account)
    every = cast(Any, recorder)

    async def finish(*_: Any, by: str) -> SignInStep:
        return SignInStep(session=by)

    sign_in = SignInByProvider(
        every,
        every,
        every,
        cast(Any, finish),
        cast(Any, None),
        clock=cast(Any, None),
        new_token=lambda: "a token",
    )

    request = OidcRequest(secret="s", target="/", invitation="an invitation")
    await sign_in(request, "a code", Browser("A test", ADDRESS))

    assert recorder.addresses == [ADDRESS]
