"""`swapctl doctor` with and without answering ports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.tests.unit.test_commands import Port, port, serving, stack
from typer.testing import CliRunner

from swap_contracts import topics as contracts
from swapctl.app import app
from swapctl.commands.doctor import REQUIRED, SCHEMAS, latest_migration
from swapctl.kafka_topics import TOPICS
from swapctl.network_nodes import without_key

__all__ = ["port", "stack"]
ROOT = Path(__file__).resolve().parents[3]
READY = {"ok": True, "problems": {}, "notes": {}}
NOWHERE = "127.0.0.1:1"  # refuses connections; tests of the stack use a real broker
METRICS = """
# TYPE swap_consumer_lag_messages gauge
swap_consumer_lag_messages{topic="deposit.changed.v1"} 3.0
# TYPE swap_consumer_silence_seconds gauge
swap_consumer_silence_seconds{topic="deposit.changed.v1"} 0.2
# TYPE swap_build_info gauge
swap_build_info{revision="0123456789abcdef",version="v1.2.3"} 1.0
"""
SIGNER = {"network": "BASE", "address": "0x1", "oldest_slot_seconds": None, "halted": None}


@pytest.fixture
def well(port: Port) -> Port:
    answers: dict[tuple[str, str], Any] = {
        ("GET", "/readyz"): READY,
        ("GET", "/admin/networks"): {
            "networks": [{"network": "BASE", "head": 9, "lag_blocks": 0, "halted": None}]
        },
        ("GET", "/admin/signers"): {"signers": [SIGNER]},
        ("GET", "/admin/recovery"): {"recoveries": [], "retained": []},
        ("GET", "/admin/payouts/stops"): {"stops": []},
        ("GET", "/admin/stuck"): {"stuck": []},
        ("GET", "/metrics"): METRICS,
        # Every request to the node has the same answer: chain id 84532 and a balance of 84532 wei.
        ("POST", "/node"): {"jsonrpc": "2.0", "id": 1, "result": hex(84532)},
    }
    port.answers = {request: (200, answer) for request, answer in answers.items()}
    return port


@pytest.fixture
def dashboard() -> Iterator[Port]:
    with serving() as port:
        yield port


def described(stack: Path, port: Port, **changes: Any) -> None:
    """Add the parts that the doctor checks to the stack's description."""
    host = port.url.removeprefix("http://")
    network = {"name": "BASE", "chain_id": "84532", "rpc_urls": [f"{port.url}/node"]}
    description = json.loads(stack.read_text())
    stack.write_text(
        json.dumps(
            {
                **description,
                "networks": [network],
                "kafka": {"bootstrap_servers": NOWHERE},
                "redis": {"url": f"redis://{host}/0"},
                **changes,
            }
        )
    )


def run(stack: Path) -> tuple[int, dict[str, tuple[str, str]]]:
    result = CliRunner().invoke(app, ["--stack", str(stack), "doctor", "--json"])
    rows = json.loads(result.stdout)
    return result.exit_code, {row["part"]: (row["level"], row["text"]) for row in rows}


def test_every_part_has_a_line(stack: Path, well: Port) -> None:
    described(stack, well)

    _, found = run(stack)

    services = {f"service {name}" for name in REQUIRED}
    others = {"broker", "topics", "Valkey", "network BASE", "node of BASE", "signer BASE"}
    state = {"versions", "recovery", "payouts", "swaps", "database"}
    assert services | others | state == set(found)
    levels = {part: level for part, (level, _) in found.items()}
    assert levels.pop("database") == "failed"  # its address is not configured here
    assert levels.pop("broker") == levels.pop("topics") == "failed"  # no process listens there
    assert levels.pop("signer BASE") == "failed"  # its 84532 wei do not cover one payout
    assert set(levels.values()) == {"ok"}


def test_a_node_of_another_chain_is_found(stack: Path, well: Port) -> None:
    network = {"name": "BASE", "chain_id": "8453", "rpc_urls": [f"{well.url}/node"]}
    described(stack, well, networks=[network])

    code, found = run(stack)

    assert code == 1
    assert found["node of BASE"] == (
        "failed",
        f"{well.url} has chain id 84532, the network has 8453",
    )


def test_an_error_of_a_node_is_shown(stack: Path, well: Port) -> None:
    described(stack, well)
    error = {"code": -32005, "message": "daily request limit reached"}
    well.answers["POST", "/node"] = (200, {"jsonrpc": "2.0", "id": 1, "error": error})

    _, found = run(stack)

    assert "daily request limit reached" in found["node of BASE"][1]


def test_an_unreachable_part_is_a_line_and_does_not_stop_the_checks(
    stack: Path, well: Port
) -> None:
    described(stack, well, postgres={"auditor_url": "postgresql://auditor@127.0.0.1:1/swap"})
    well.answers["GET", "/admin/signers"] = (500, {"error": "no"})

    code, found = run(stack)

    assert code == 1
    assert found["database"][0] == found["settler"][0] == "failed"
    assert found["network BASE"][0] == "ok"


def test_text_output_has_a_line_and_an_action(stack: Path, well: Port) -> None:
    described(stack, well)

    output = CliRunner().invoke(app, ["--stack", str(stack), "doctor"]).stdout

    assert "ok       service settler          ready" in output
    assert "to do: send the network's coin to this address" in output
    assert "money: payments of BASE wait in its Treasury" in output


def test_a_deployment_without_known_parts_fails(tmp_path: Path) -> None:
    nothing = tmp_path / "stack.json"
    nothing.write_text("{}")

    code, found = run(nothing)

    assert code == 1
    assert found["database"][0] == found["settler"][0] == found["service api"][0] == "failed"


def test_a_consumer_far_behind_is_a_warning(stack: Path, well: Port) -> None:
    described(stack, well)
    late = METRICS.replace("} 3.0", "} 30000.0")
    well.answers["GET", "/metrics"] = (200, late)

    _, found = run(stack)

    assert found["consumer settler"] == ("warning", "deposit.changed.v1: 30000 messages behind")


def test_services_of_one_build_are_well(stack: Path, well: Port) -> None:
    described(stack, well)

    _, found = run(stack)

    assert found["versions"] == ("ok", "every service runs v1.2.3 (0123456789ab)")


def test_services_of_two_builds_are_a_warning(stack: Path, well: Port, dashboard: Port) -> None:
    described(stack, well)
    newer = METRICS.replace("v1.2.3", "v1.3.0")
    dashboard.answers = {("GET", "/readyz"): (200, READY), ("GET", "/metrics"): (200, newer)}
    with_dashboard = [{"name": "dashboard", "internal_url": dashboard.url}]
    services = json.loads(stack.read_text())["services"] + with_dashboard
    described(stack, well, services=services)

    _, found = run(stack)

    level, text = found["versions"]
    assert level == "warning"
    assert "api v1.2.3 (0123456789ab), quoter v1.2.3" in text
    assert "dashboard v1.3.0 (0123456789ab)" in text


def test_services_that_name_no_build_are_not_compared(stack: Path, well: Port) -> None:
    described(stack, well)
    well.answers["GET", "/metrics"] = (200, METRICS.partition("# TYPE swap_build_info")[0])

    _, found = run(stack)

    assert "versions" not in found
    assert found["service api"] == ("ok", "ready")


def test_a_key_in_the_path_of_a_node_is_not_shown() -> None:
    assert without_key("https://rpc.example/v3/secret?key=1") == "https://rpc.example"
    assert without_key("http://127.0.0.1:8545/node") == "http://127.0.0.1:8545"


def test_the_topics_are_those_of_the_contracts() -> None:
    assert set(TOPICS) == {topic.name for topic in contracts.TOPICS}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_newest_migration_is_read_from_the_checkout(schema: str, tmp_path: Path) -> None:
    newest = latest_migration(schema, ROOT)

    assert newest is not None
    assert newest.isdecimal()
    assert latest_migration(schema, tmp_path) is None
