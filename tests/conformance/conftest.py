"""The deployment under test, what is created there, and the report."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance import report
from tests.conformance.brief import Brief
from tests.conformance.development import Operator
from tests.conformance.paid_swaps import PaidSwaps
from tests.conformance.receiver import Receiver
from tests.conformance.settings import Settings, read_settings
from tests.conformance.signing import RequirementMissing
from tests.conformance.tables import rules
from tests.conformance.target import Target
from tests.conformance.world import World

TIMEOUT_SECONDS = 15
NO_DEPLOYMENT = (
    "no deployment is named: run `make up`, or give BASE_URL and API_KEY to make "
    "(CONFORMANCE_BASE_URL, CONFORMANCE_API_KEY or CONFORMANCE_STACK to pytest)"
)
LATEST_FIRST = ("whole_run", "late")
REPORT = pytest.StashKey[list[report.Line]]()


def pytest_configure(config: pytest.Config) -> None:
    """
    :raises UsageError: without a deployment; a run in which every test is skipped would look green.
    """
    chosen = read_settings()
    if chosen is None or "secret" not in chosen.keys:
        raise pytest.UsageError(NO_DEPLOYMENT)
    config.stash[REPORT] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests late, and tests of the whole run last."""
    items.sort(key=lambda item: [item.get_closest_marker(m) is not None for m in LATEST_FIRST])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, Any, Any]:
    result = yield
    is_verdict = result.when == "call" or (result.when == "setup" and not result.passed)
    for marker in item.iter_markers("rule") if is_verdict else ():
        line = report.Line(*_promise(marker), result.outcome, _why(result, call))
        item.config.stash[REPORT].append(line)
    return result


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    lines = config.stash[REPORT]
    settings = read_settings()
    if not lines or settings is None:
        return
    terminalreporter.section("conformance")
    for text in report.summary(lines):
        terminalreporter.write_line(text)
    path = os.environ.get("CONFORMANCE_REPORT")
    if path:
        report.write(Path(path), settings.base_url, lines)
        terminalreporter.write_line(f"every line: {path}")


def _promise(marker: pytest.Mark) -> tuple[str, str]:
    section, name = marker.args
    rule = rules().get((section, name))
    return section, name if rule is None else rule.sentence


def _why(result: Any, call: pytest.CallInfo[Any]) -> str:
    if result.passed:
        return ""
    message = str(call.excinfo.value) if call.excinfo is not None else str(result.longrepr)
    return message.strip().partition("\n")[0][:300]


# The deployment under test


@pytest.fixture(scope="session")
def settings() -> Settings:
    chosen = read_settings()
    assert chosen is not None
    return chosen


@pytest.fixture(scope="session")
def target(settings: Settings) -> Iterator[Target]:
    operator = Operator.of(settings)
    ready = settings if operator is None else operator.with_keys(settings)
    with httpx.Client(base_url=ready.base_url, timeout=TIMEOUT_SECONDS) as http:
        target = Target(ready, http)
        if ready.stack:
            World(target).wait_for_gasless()
        yield target


@pytest.fixture(scope="session")
def world(target: Target) -> World:
    return World(target)


@pytest.fixture(autouse=True)
def fresh_resources(world: World) -> None:
    world.reset_lapsing()


@pytest.fixture(scope="session")
def operator(settings: Settings) -> Operator:
    """
    :raises RequirementMissing: where no operator access is configured.
    """
    found = Operator.of(settings)
    if found is None:
        raise RequirementMissing(
            "this is an operator's to do: give CONFORMANCE_OPERATOR_… or stack.json"
        )
    return found


@pytest.fixture(scope="session", autouse=True)
def brief(world: World) -> Brief:
    """Create the swaps that must have expired before their checks."""
    brief = Brief(world)
    brief.begin()
    return brief


@pytest.fixture(scope="session")
def receiver(settings: Settings, target: Target) -> Iterator[Receiver]:
    """Open a receiver that the deployment can reach; its reports say if it cannot."""
    receiver = Receiver.open(settings, Operator.of(settings))
    yield receiver
    receiver.close()


@pytest.fixture(scope="session")
def paid_swaps(world: World, receiver: Receiver) -> PaidSwaps:
    """Return the paid swaps, all paid at once, if a wallet is configured."""
    return PaidSwaps(world)
