"""A sign-in to the console counts as failed only if a service refused it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from swap_dashboard.console.domain.attempts import FREE_FAILURES
from swap_dashboard.console.domain.memory import MemoryAttempts, MemorySessions
from swap_dashboard.console.ports import Identity, OperatorApi, ServiceName, ServiceUnavailable
from swap_dashboard.console.usecases.sign_in import SignIn, SignInBlocked, SignInRefused

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
FROM = {"browser": "a browser", "address": "203.0.113.7"}


class Services:
    """Services that accept one token, and may be unavailable."""

    def __init__(self) -> None:
        self.is_unavailable = False

    async def identify(self, token: str) -> Identity | None:
        if self.is_unavailable:
            raise ServiceUnavailable(ServiceName.SETTLER)
        return Identity("ann", "operator") if token == "ann's" else None

    def as_operator(self, token: str) -> OperatorApi:
        raise NotImplementedError


@pytest.fixture
def services() -> Services:
    return Services()


@pytest.fixture
def sign_in(services: Services) -> SignIn:
    hour = timedelta(hours=1)
    return SignIn(
        services,
        MemorySessions(idle=hour, lifetime=hour),
        MemoryAttempts(),
        clock=lambda: NOW,
        new_id=uuid4,
        new_token=lambda: "secret",
    )


async def test_attempts_while_services_are_unavailable_do_not_lock_out(
    services: Services, sign_in: SignIn
) -> None:
    services.is_unavailable = True
    for _ in range(FREE_FAILURES + 3):
        with pytest.raises(ServiceUnavailable):
            await sign_in("ann's", **FROM)
    services.is_unavailable = False

    assert await sign_in("ann's", **FROM) == "secret"


async def test_attempt_while_services_are_unavailable_keeps_earlier_failures(
    services: Services, sign_in: SignIn
) -> None:
    for _ in range(FREE_FAILURES):
        with pytest.raises(SignInRefused):
            await sign_in("wrong", **FROM)
    services.is_unavailable = True
    with pytest.raises(ServiceUnavailable):
        await sign_in("wrong", **FROM)
    services.is_unavailable = False

    with pytest.raises(SignInRefused):
        await sign_in("wrong", **FROM)
    with pytest.raises(SignInBlocked):
        await sign_in("ann's", **FROM)


def test_take_back_keeps_the_pause_of_other_failures() -> None:
    attempts, address = MemoryAttempts(), FROM["address"]
    for _ in range(FREE_FAILURES + 1):
        assert attempts.begin(address, NOW) is None
    later = NOW + timedelta(seconds=2)
    assert attempts.begin(address, later) is None

    attempts.take_back(address)

    assert attempts.begin(address, later) == later + timedelta(seconds=2)
