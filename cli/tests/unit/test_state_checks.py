"""Each check of the state detects its problem, and says what happens to the money."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from swapctl.checkup import Finding, Level
from swapctl.node_rpc import BlockHead
from swapctl.state_checks import (
    check_agreement,
    check_closures,
    check_consumer,
    check_cover,
    check_endpoints,
    check_head_age,
    check_parked,
    check_topics,
)

COVER: dict[str, Any] = {"network": "BASE", "token": "0x0", "held": 9, "owed": 4, "on_chain": 9}
ENDPOINT: dict[str, Any] = {"id": "e", "app_id": "a", "disabled_reason": None}
SINCE = {"failing_since": datetime(2026, 1, 2, 3, 4, tzinfo=UTC)}
HERE = BlockHead(7, "0x" + "11" * 32, 0)
ELSEWHERE = BlockHead(7, "0x" + "22" * 32, 0)


def listed(found: Finding | Iterable[Finding] | None) -> list[Finding]:
    if found is None:
        return []
    return [found] if isinstance(found, Finding) else list(found)


CASES = [
    (check_topics(["a"], ["a", "b"]), Level.OK, "all 1"),
    (check_topics(["a", "b"], ["a"]), Level.FAILED, "missing: b"),
    (check_consumer("api", "a", lag=2000, silence=0), Level.WARNING, "2000 messages"),
    (check_consumer("api", "a", lag=0, silence=90), Level.FAILED, "90 s"),
    (check_parked("api", 0, None), Level.OK, "none"),
    (check_parked("api", 2, 70), Level.FAILED, "oldest 70 s"),
    (check_endpoints([]), Level.OK, "no endpoint"),
    (check_endpoints([{**ENDPOINT, **SINCE}]), Level.WARNING, "since 2026-01-02 03:04"),
    (check_endpoints([{**ENDPOINT, "disabled_reason": "gone"}]), Level.WARNING, "disabled: gone"),
    (check_cover(COVER), Level.OK, "9 base units held, 4"),
    (check_cover({**COVER, "on_chain": None}), Level.OK, "9 base units"),
    (check_cover({**COVER, "owed": 10}), Level.FAILED, "the ledger has 9"),
    (check_cover({**COVER, "on_chain": 3}), Level.FAILED, "the chain had 3"),
    (check_closures([{"network": "BASE", "reason": "drill"}]), Level.WARNING, "drill"),
    (check_head_age("BASE", "http://n", 900), Level.WARNING, "900 s old"),
    (check_agreement("BASE", {"a": HERE, "b": HERE}), Level.OK, "2 nodes agree"),
    (check_agreement("BASE", {"a": HERE, "b": ELSEWHERE}), Level.FAILED, "final block 7 differs"),
]


@pytest.mark.parametrize(("found", "level", "text"), CASES)
def test_a_check_has_one_level_and_an_action_unless_it_is_ok(
    found: Finding | Iterable[Finding] | None, level: Level, text: str
) -> None:
    [finding] = listed(found)

    assert (finding.level, text in finding.text) == (level, True), finding
    assert bool(finding.to_do) == (level is not Level.OK)


@pytest.mark.parametrize(
    "found",
    [
        check_consumer("api", "a", lag=5, silence=0),
        check_head_age("BASE", "http://n", 12),
        check_agreement("BASE", {"a": HERE}),
        check_closures([]),
    ],
)
def test_a_healthy_consumer_or_node_has_no_line(
    found: Finding | Iterable[Finding] | None,
) -> None:
    assert listed(found) == []


@pytest.mark.parametrize("case", [check_parked("api", 1, 5), check_cover({**COVER, "owed": 10})])
def test_a_finding_about_money_says_what_happens_to_it(case: Finding) -> None:
    assert case.money
