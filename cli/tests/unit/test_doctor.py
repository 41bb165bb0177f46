"""`swapctl doctor` against ports that answer, and against nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.tests.unit.test_commands import Port, port, stack
from typer.testing import CliRunner

from swapctl.app import app
from swapctl.commands.doctor import SCHEMAS, latest_migration

__all__ = ["port", "stack"]
ROOT = Path(__file__).resolve().parents[3]
READY = {"ok": True, "problems": {}, "notes": {}}
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
        # Every question to a node has the same answer: a chain id of 84532, and as much wei.
        ("POST", "/node"): {"jsonrpc": "2.0", "id": 1, "result": hex(84532)},
    }
    port.answers = {request: (200, answer) for request, answer in answers.items()}
    return port


def described(stack: Path, port: Port, **changes: Any) -> None:
    """Add to the stack's description what the doctor looks for."""
    host = port.url.removeprefix("http://")
    network = {"name": "BASE", "chain_id": "84532", "rpc_urls": [f"{port.url}/node"]}
    description = json.loads(stack.read_text())
    stack.write_text(
        json.dumps(
            {
                **description,
                "networks": [network],
                "kafka": {"bootstrap_servers": host},
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

    services = {f"service {name}" for name in SCHEMAS}
    others = {"broker", "Valkey", "network BASE", "node of BASE", "signer BASE"}
    state = {"recovery", "payouts", "swaps", "database"}
    assert services | others | state == set(found)
    levels = {part: level for part, (level, _) in found.items()}
    assert levels.pop("database") == "warning"  # no address of it is known here
    assert levels.pop("signer BASE") == "failed"  # its 84532 wei pay for no payout
    assert set(levels.values()) == {"ok"}


def test_a_node_of_another_chain_is_found(stack: Path, well: Port) -> None:
    network = {"name": "BASE", "chain_id": "8453", "rpc_urls": [f"{well.url}/node"]}
    described(stack, well, networks=[network])

    code, found = run(stack)

    assert code == 1
    assert found["node of BASE"] == (
        "failed",
        f"{well.url}/node has chain id 84532, the network has 8453",
    )


def test_what_cannot_be_asked_is_a_line_and_not_the_end(stack: Path, well: Port) -> None:
    described(stack, well, postgres={"auditor_url": "postgresql://auditor@127.0.0.1:1/swap"})
    well.answers["GET", "/admin/signers"] = (500, {"error": "no"})

    code, found = run(stack)

    assert code == 1
    assert found["database"][0] == found["settler"][0] == "failed"
    assert found["network BASE"][0] == "ok"


def test_a_person_reads_a_line_and_what_to_do(stack: Path, well: Port) -> None:
    described(stack, well)

    output = CliRunner().invoke(app, ["--stack", str(stack), "doctor"]).stdout

    assert "ok       service settler          ready" in output
    assert "to do: send the network's coin to this address" in output


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_newest_migration_is_read_from_the_checkout(schema: str, tmp_path: Path) -> None:
    newest = latest_migration(schema, ROOT)

    assert newest is not None
    assert newest.isdecimal()
    assert latest_migration(schema, tmp_path) is None
