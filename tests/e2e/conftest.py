"""Every end-to-end test ends at rest, and every module with the question: is all as it must be?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any

import pytest

from tests.e2e import oracle
from tests.e2e.idle_stack import wait_until_idle, what_was_done
from tests.e2e.outside import Outside
from tests.plugins.invariants import violations
from tests.plugins.stack import Stack, stack, stacks

# A test may have to start the stack, and a module's first one plays what the others look at.
TIMEOUT_SECONDS = 400

__all__ = ["checked", "idle_after_test", "outside", "stack", "stacks"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.connected)
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))


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
def idle_after_test(stack: Stack) -> Iterator[None]:
    """Wait until nothing is due, so that every test begins with a stack that rests."""
    yield
    run_unless_broken(stack, wait_for_rest)


@pytest.fixture(autouse=True, scope="module")
def checked(stack: Stack) -> Iterator[None]:
    """At a module's end no invariant is broken, no swap is stuck, and chains and ledger agree."""
    yield
    run_unless_broken(stack, check)


def run_unless_broken(stack: Stack, what: Callable[[Stack], Coroutine[Any, Any, None]]) -> None:
    """Ask nothing of a stack that a test has left broken, and let none go on with one that is."""
    if stack.broken_by is not None:
        return
    try:
        asyncio.run(what(stack))
    except BaseException:
        stack.broken_by = "a test before this one"
        raise


async def wait_for_rest(stack: Stack) -> None:
    """
    :raises AssertionError: naming what is still under way after a while.
    """
    if (
        stack.state_at_rest is not None
        and await what_was_done(stack.description) == stack.state_at_rest
    ):
        return  # the test only looked
    await wait_until_idle(stack.description)
    stack.state_at_rest = await what_was_done(stack.description)


async def check(stack: Stack) -> None:
    """
    :raises AssertionError: with all that is wrong.
    """
    assert violations(stack.auditor_url) == {}
    assert (await stack.admin("settler", "/stuck"))["stuck"] == []
    assert await oracle.differences(stack.description) == []


@pytest.fixture
async def outside(stack: Stack) -> AsyncIterator[Outside]:
    async with Outside(stack.description) as client:
        yield client
