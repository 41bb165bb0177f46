"""Every end-to-end test ends with the same question: is everything as it must be?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from tests.e2e import oracle
from tests.e2e.outside import Outside
from tests.e2e.quiet import wait_until_quiet, what_was_done
from tests.plugins.invariants import violations
from tests.plugins.stack import Stack, Stacks, stack, stacks

__all__ = ["checked", "outside", "stack", "stacks"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.connected)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    values: dict[str, Any] = getattr(item, "funcargs", {})
    if report.failed and "stacks" in values and "stack" in values:
        values["stacks"].has_failures = True
        logs = values["stack"].places.logs
        report.sections.append(("stack", f"the logs of the stack are kept in {logs}"))
    return report


@pytest.fixture(autouse=True)
def checked(stack: Stack, stacks: Stacks) -> Iterator[None]:
    """Wait until nothing is due; then no invariant is broken, and chains and ledger agree."""
    yield
    if stack.broken_by is not None:
        return
    try:
        asyncio.run(check(stack))
    except BaseException:
        stack.broken_by = "a test before this one"
        raise


async def check(stack: Stack) -> None:
    """
    :raises AssertionError: with all that is wrong.
    """
    if stack.checked is not None and await what_was_done(stack.description) == stack.checked:
        return  # the test only looked
    await wait_until_quiet(stack.description)
    stack.checked = await what_was_done(stack.description)
    assert violations(stack.auditor_url) == {}
    assert await oracle.differences(stack.description) == []


@pytest.fixture
async def outside(stack: Stack) -> AsyncIterator[Outside]:
    async with Outside(stack.description) as client:
        yield client
