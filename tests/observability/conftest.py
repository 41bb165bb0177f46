"""One stack with its monitoring for the session. Without Prometheus the tests are skipped."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy/monitoring"))

from tests.e2e.conftest import pytest_runtest_makereport
from tests.e2e.outside import Outside
from tests.observability.monitoring import MISSING, Monitoring, find_programs, watching
from tests.plugins.stack import Stack, stack, stacks

__all__ = ["monitoring", "outside", "pytest_runtest_makereport", "stack", "stacks"]

TIMEOUT_SECONDS: Final = 2400
# A loss of any size exceeds the budget of this network.
SETTINGS: Final = {"SWAP_SETTLER__LOSS_BUDGETS_USD": json.dumps({"BASE_DEVNET": 0})}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))


@pytest.fixture(scope="session", autouse=True)
def _settings() -> Iterator[None]:
    """Set the services' settings at the start of the stack, which inherits the environment."""
    if find_programs() is None:
        pytest.skip(MISSING)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def monitoring(
    _settings: None, stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Monitoring]:
    with watching(tmp_path_factory.mktemp("monitoring"), stack.description) as found:
        yield found


@pytest.fixture
async def outside(stack: Stack) -> AsyncIterator[Outside]:
    async with Outside(stack.description) as client:
        yield client
