"""A sign-in to the console counts as failed only if a service refused it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse

from swap_dashboard.console.adapters.operator_api import IDENTITY_SERVICES, HttpServices
from swap_dashboard.console.domain.attempts import FREE_FAILURES
from swap_dashboard.console.domain.memory import MemoryAttempts, MemorySessions
from swap_dashboard.console.ports import ServiceUnavailable
from swap_dashboard.console.usecases.sign_in import SignIn, SignInBlocked, SignInRefused
from tests.support.serving import get, serve

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
FROM = {"browser": "a browser", "address": "203.0.113.7"}


class Identities:
    """The route of services that accept one token, and may be unavailable."""

    def __init__(self) -> None:
        self.is_unavailable = False

    async def answer(self, request: Request) -> JSONResponse:
        if self.is_unavailable:
            return JSONResponse({"error": "starting"}, 503)
        if request.headers["authorization"] != "Bearer ann's":
            return JSONResponse({"error": "unknown token"}, 401)
        return JSONResponse({"name": "ann", "role": "operator"})


@pytest.fixture
def identities() -> Identities:
    return Identities()


@pytest.fixture
async def sign_in(identities: Identities) -> AsyncIterator[SignIn]:
    hour = timedelta(hours=1)
    async with serve(Starlette(routes=[get("/admin/identity", identities.answer)])) as url:
        urls = dict.fromkeys(IDENTITY_SERVICES, url)
        services = HttpServices(urls, answer_seconds=5, order_seconds=5)
        yield SignIn(
            services,
            MemorySessions(idle=hour, lifetime=hour),
            MemoryAttempts(),
            clock=lambda: NOW,
            new_id=uuid4,
            new_token=lambda: "secret",
        )
        await services.close()


async def test_attempts_while_services_are_unavailable_do_not_lock_out(
    identities: Identities, sign_in: SignIn
) -> None:
    identities.is_unavailable = True
    for _ in range(FREE_FAILURES + 3):
        with pytest.raises(ServiceUnavailable):
            await sign_in("ann's", **FROM)
    identities.is_unavailable = False

    assert await sign_in("ann's", **FROM) == "secret"


async def test_attempt_while_services_are_unavailable_keeps_earlier_failures(
    identities: Identities, sign_in: SignIn
) -> None:
    for _ in range(FREE_FAILURES):
        with pytest.raises(SignInRefused):
            await sign_in("wrong", **FROM)
    identities.is_unavailable = True
    with pytest.raises(ServiceUnavailable):
        await sign_in("wrong", **FROM)
    identities.is_unavailable = False

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
