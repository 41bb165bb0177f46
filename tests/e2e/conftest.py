"""After each test the stack is idle, and after each module its invariants are checked."""

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

# A test may have to start the stack, and the first one of a module runs the swaps of all others.
TIMEOUT_SECONDS = 400

__all__ = ["check_after_module", "idle_after_test", "outside", "stack", "stacks"]


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
    """Wait until no work is due, so that every test starts with an idle stack."""
    yield
    run_unless_broken(stack, wait_for_rest)


@pytest.fixture(autouse=True, scope="module")
def check_after_module(stack: Stack) -> Iterator[None]:
    """Check after a module that invariants hold, no swap is stuck, and chains and ledger agree."""
    yield
    run_unless_broken(stack, check)


def run_unless_broken(stack: Stack, what: Callable[[Stack], Coroutine[Any, Any, None]]) -> None:
    """Skip a check of a broken stack; if the check fails, mark the stack as broken."""
    if stack.broken_by is not None:
        return
    try:
        asyncio.run(what(stack))
    except BaseException:
        stack.broken_by = "a test before this one"
        raise


async def wait_for_rest(stack: Stack) -> None:
    """
    :raises AssertionError: with the work that is still due after the timeout.
    """
    if (
        stack.state_at_rest is not None
        and await what_was_done(stack.description) == stack.state_at_rest
    ):
        return  # the test changed nothing
    await wait_until_idle(stack.description)
    stack.state_at_rest = await what_was_done(stack.description)


async def check(stack: Stack) -> None:
    """
    :raises AssertionError: with every difference.
    """
    assert violations(stack.auditor_url) == {}
    assert (await stack.admin("settler", "/stuck"))["stuck"] == []
    assert await oracle.differences(stack.description) == []


@pytest.fixture
async def outside(stack: Stack) -> AsyncIterator[Outside]:
    async with Outside(stack.description) as client:
        yield client
