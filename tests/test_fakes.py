"""Every fake passes the suite of what it stands for, so that tests on the fake alone count."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = ("libs", "services", "cli", "sdk", "deploy", "tests")


class Suite(NamedTuple):
    """Where a fake and the real class run through the same tests."""

    path: str
    real: str


PORTS: Final = ROOT / "tests/fakes_of_ports.py"
CHAIN: Final = "libs/chains/tests/contract/conftest.py"
SETTLER: Final = "services/settler/tests/integration"
API: Final = "services/api/tests"
SUITES: Final = {
    "FakeChain": Suite(CHAIN, "EvmReader"),
    "FakeReader": Suite(CHAIN, "EvmReader"),
    "FakeSender": Suite(CHAIN, "EvmSender"),
    "FakeParking": Suite("libs/runtime/tests/integration/test_parking_contract.py", "a_parking"),
    "FakeChains": Suite(f"{API}/integration/test_gasless_chains_contract.py", "EvmGaslessChains"),
    "FakeProducer": Suite(
        "libs/runtime/tests/integration/test_producer_contract.py", "KafkaProducer"
    ),
    "FakeWebhooks": Suite(f"{API}/integration/test_webhooks_contract.py", "NotifierEndpoints"),
    "FakeUnitOfWork": Suite(f"{SETTLER}/test_unit_of_work_reads.py", "PostgresUnitOfWork"),
    "FakeRequotes": Suite(f"{SETTLER}/test_work_due.py", "PostgresDueRequotes"),
    "FakePricing": Suite(f"{API}/integration/test_pricing_contract.py", "HttpPricing"),
    "FakeChainTransactions": Suite(
        f"{API}/unit/test_chain_transactions.py", "EvmChainTransactions"
    ),
    "FakeWallets": Suite(f"{API}/integration/test_chains_contract.py", "EvmWallets"),
    "FakeDepositories": Suite(f"{API}/integration/test_chains_contract.py", "EvmDepositories"),
    "FakeDepositAddresses": Suite(
        f"{API}/integration/test_chains_contract.py", "CheckedDepositAddresses"
    ),
}
NO_PORT: Final = {"FakeChain"}  # what FakeReader and FakeSender read and write
NO_COUNTERPART: Final = {
    "FakeTransaction": "a row of FakeChain, which no caller of a port receives",
    "FakeBooks": "a view of FakeUnitOfWork for one table of cases, which also runs on Postgres",
}


@cache
def fakes() -> dict[str, list[str]]:
    """Return the files that define each class with the name of a fake."""
    found: dict[str, list[str]] = {}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text()
            if "class Fake" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and node.name.startswith("Fake"):
                    found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    return found


def test_every_fake_is_listed_once() -> None:
    listed = [*SUITES, *NO_COUNTERPART]

    assert sorted(listed) == sorted(fakes())
    assert {name: paths for name, paths in fakes().items() if len(paths) > 1} == {}


def test_mypy_checks_every_fake_of_a_port() -> None:
    tree = ast.parse(PORTS.read_text())
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    assert {name for name in named if name.startswith("Fake")} == set(SUITES) - NO_PORT


@pytest.mark.parametrize("fake", SUITES)
def test_its_suite_uses_the_fake_and_the_real_class(fake: str) -> None:
    path, real = SUITES[fake]
    tree = ast.parse((ROOT / path).read_text())
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert {fake, real} <= called
