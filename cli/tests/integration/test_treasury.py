"""`swapctl treasury plan` on the inventory of a migrated PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from swapctl.app import app
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
TOKEN, TREASURY = "0x" + "a" * 40, "0x" + "b" * 40
FUNDER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


@pytest.fixture(scope="module")
def inventory(database: Database) -> Database:
    """One Treasury has 100 base units, another has none."""
    with psycopg.connect(database.superuser_url) as connection:
        for network, held in (("BASE_DEVNET", 100), ("ETHEREUM_DEVNET", 0)):
            connection.execute(
                "INSERT INTO settler.inventory (network, token, held_base_units) "
                "VALUES (%s, %s, %s)",
                [network, TOKEN, held],
            )
            connection.execute(
                "INSERT INTO settler.account (kind, network, token, holder, address) "
                "VALUES ('custody', %s, %s, 'treasury', %s)",
                [network, TOKEN, TREASURY],
            )
    return database


def plan(database: Database, folder: Path, *arguments: str, target: str = "0.00004") -> Result:
    tokens = {
        network: {"USDC": {"contract": TOKEN, "decimals": 6, "target": units}}
        for network, units in (("BASE_DEVNET", "0"), ("ETHEREUM_DEVNET", target))
    }
    targets = folder / "targets.json"
    targets.write_text(json.dumps({"tokens": tokens}))
    command = ["treasury", "plan", "--targets", str(targets), *arguments, "--json"]
    return CliRunner().invoke(app, ["--auditor-url", database.url("auditor"), *command])


def test_inventory_leaves_for_the_funder(inventory: Database, tmp_path: Path) -> None:
    result = plan(inventory, tmp_path, "--funder", FUNDER)

    leaves, arrives = json.loads(result.stdout)
    assert (leaves["network"], leaves["data"][98:138]) == ("BASE_DEVNET", FUNDER[2:].lower())
    assert (arrives["network"], arrives["data"][34:74]) == ("ETHEREUM_DEVNET", TREASURY[2:])


def test_inventory_does_not_leave_without_a_funder(inventory: Database, tmp_path: Path) -> None:
    result = plan(inventory, tmp_path)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "swapctl: inventory leaves a Treasury: name its recipient with --funder\n"
    )


def test_a_plan_without_moves_needs_no_funder(inventory: Database, tmp_path: Path) -> None:
    result = plan(inventory, tmp_path, target="0")

    assert (result.exit_code, json.loads(result.stdout)) == (0, [])


@pytest.mark.parametrize(
    "funder", [FUNDER[:-1], FUNDER.replace("5aA", "5AA"), "FUNDER", "0x" + "0" * 40]
)
def test_a_wrong_funder_is_refused(inventory: Database, tmp_path: Path, funder: str) -> None:
    result = plan(inventory, tmp_path, "--funder", funder)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "--funder" in result.stderr
