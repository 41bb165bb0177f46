"""The console over the services that each module operates."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.console.operator_services import ADDRESS, Console, Services


@pytest.fixture
async def console(services: Services) -> AsyncIterator[Console]:
    made = Console(services, public_url=ADDRESS)
    yield made
    await made.http.close()
