"""Each check detects its problem, and a problem has an action."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from swapctl.checkup import (
    Finding,
    Level,
    check_endpoint,
    check_migrations,
    check_network,
    check_node,
    check_outbox,
    check_recovery,
    check_service,
    check_signer,
    check_stops,
    check_stuck,
)

NETWORK = {"network": "BASE", "head": 100, "lag_blocks": 2, "halted": None}
SIGNER = {"network": "BASE", "address": "0x1", "oldest_slot_seconds": None, "halted": None}
RECOVERY: dict[str, Any] = {"recoveries": [], "retained": []}
HALT = {"reason": "a final block differs"}


def listed(found: Finding | Iterable[Finding]) -> list[Finding]:
    return [found] if isinstance(found, Finding) else list(found)


CASES = [
    (check_service("api", {"problems": {}}), Level.OK, ""),
    (check_service("api", {"problems": {"postgres": "away"}}), Level.FAILED, "postgres: away"),
    (check_service("api", None), Level.FAILED, "does not answer"),
    (check_migrations("api", "0007", "0007"), Level.OK, ""),
    (check_migrations("api", "0006", "0007"), Level.FAILED, "the code expects 0007"),
    (check_migrations("api", "0008", "0007"), Level.WARNING, "newer than 0007"),
    (check_migrations("api", "0008", None), Level.OK, "not compared"),
    (check_migrations("api", None, "0007"), Level.FAILED, "no migrations"),
    (check_outbox("api", None), Level.OK, ""),
    (check_outbox("api", 3.0), Level.OK, "3 s"),
    (check_outbox("api", 300.0), Level.FAILED, "300 s"),
    (check_endpoint("broker", "b:9092", is_open=True), Level.OK, ""),
    (check_endpoint("broker", "b:9092", is_open=False), Level.FAILED, "b:9092"),
    (check_network(NETWORK), Level.OK, "2 blocks behind"),
    (check_network({**NETWORK, "lag_blocks": 500}), Level.WARNING, "500 blocks"),
    (check_network({**NETWORK, "head": None, "lag_blocks": None}), Level.FAILED, "no node"),
    (check_network({**NETWORK, "lag_blocks": None}), Level.WARNING, "not read yet"),
    (check_network({**NETWORK, "halted": HALT}), Level.FAILED, "a final block differs"),
    (check_node("BASE", "http://n", expected=8453, found=8453), Level.OK, "8453"),
    (check_node("BASE", "http://n", expected=8453, found=1), Level.FAILED, "chain id 1"),
    (check_node("BASE", "http://n", expected=None, found=1), Level.OK, "chain id 1"),
    (check_node("BASE", "http://n", expected=1, found="ConnectError"), Level.FAILED, "Connect"),
    (check_signer(SIGNER, 5000), Level.OK, "5000 payouts"),
    (check_signer(SIGNER, 12), Level.WARNING, "12 payouts"),
    (check_signer(SIGNER, 0), Level.FAILED, "0 payouts"),
    (check_signer(SIGNER, None), Level.WARNING, "unknown"),
    (check_signer({**SIGNER, "halted": HALT}, 5000), Level.FAILED, "halted"),
    (check_recovery(RECOVERY), Level.OK, ""),
    (check_recovery({**RECOVERY, "recoveries": [{"state": "ended"}]}), Level.OK, ""),
    (check_recovery({**RECOVERY, "recoveries": [{"state": "open"}]}), Level.WARNING, "open"),
    (check_recovery({**RECOVERY, "uncompared": [{"network": "BASE"}]}), Level.WARNING, "BASE"),
    (check_recovery({**RECOVERY, "retained": [{"id": 1}]}), Level.WARNING, "1 payments"),
    (check_stops([]), Level.OK, ""),
    (check_stops([{"network": "*", "reason": "drill"}]), Level.WARNING, "every network: drill"),
    (check_stuck([]), Level.OK, ""),
    (check_stuck([{"swap_id": "1"}]), Level.FAILED, "1 swaps"),
]


@pytest.mark.parametrize(("found", "level", "text"), CASES)
def test_a_check_has_one_level_and_an_action_unless_it_is_ok(
    found: Finding | Iterable[Finding], level: Level, text: str
) -> None:
    [finding] = listed(found)

    assert (finding.level, text in finding.text) == (level, True), finding
    assert bool(finding.to_do) == (level is not Level.OK)


def test_a_slot_that_is_open_too_long_is_a_warning() -> None:
    found = list(check_signer({**SIGNER, "oldest_slot_seconds": 3600}, 5000))

    assert [one.level for one in found] == [Level.WARNING, Level.OK]
