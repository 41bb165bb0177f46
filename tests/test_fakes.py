"""Every fake has a suite that also runs on the real class, or a reason why it has none.

The suite names each method of a port that the fake has. A difference between the two would
otherwise show only where a use case happens to meet it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("libs", "services", "cli", "sdk", "deploy", "tests")


class Suite(NamedTuple):
    """A suite that runs the same tests on a fake and on the real class."""

    path: str
    real: str  # what makes the real one: its class, or a function
    more: tuple[str, ...] = ()  # other files of it


PORTS: Final = ROOT / "tests/fakes_of_ports.py"
CHAIN: Final = "libs/chains/tests/contract/conftest.py"
SETTLER: Final = "services/settler/tests/integration"
API: Final = "services/api/tests"
QUOTER: Final = "services/settler/tests/unit/test_quoter_contract.py"
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
    "FakeUnitOfWork": Suite(
        f"{SETTLER}/test_unit_of_work_reads.py",
        "PostgresUnitOfWork",
        (
            f"{SETTLER}/test_unit_of_work.py",
            f"{SETTLER}/test_work_due.py",
            f"{SETTLER}/test_withdrawals.py",
        ),
    ),
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
    "FixedPrices": Suite(QUOTER, "HttpPrices"),
    "Quoter": Suite(QUOTER, "HttpPricing"),
    "Prices": Suite(QUOTER, "HttpPricing"),
}
NO_PORT: Final = {"FakeChain"}  # the state of FakeReader and FakeSender
NO_COUNTERPART: Final = {
    "FakeTransaction": "a row of FakeChain, which no caller of a port receives",
    "UnavailableRecords": "raises its port's error, and derives from the class that it stands for",
    "ReceivedTransfers": "writes rows; it has a method named as one of a port",
    "DataFee": "one number, or the error of its port",
    "DataFeeOf": "one number, or the error of its port",
    "Interrupted": "a Quoter, with a deposit that arrives meanwhile",
    "Migration": "passes statements on to the connection",
    "NoFallback": "must not be called",
    "NoRefunds": "nothing is due",
    "NoRequotes": "nothing is due",
    "Person": "an HTTP client; it has a method named as one of a port",
    "Poller": "an HTTP client; it has a method named as one of a port",
    "Recorded": "collects the spans of a case",
    "WaitingRefunds": "FakeUnitOfWork, with another time of waiting",
    "FakeBooks": "a view of FakeUnitOfWork for one table of cases, which also runs on Postgres",
}


Defined = tuple[Path, ast.ClassDef]


def classes(root: Path, *, of_tests: bool) -> Iterator[Defined]:
    """Yield the top-level classes of tests, or of sources."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if "node_modules" not in path.parts and ("src" not in path.parts) is of_tests:
                found = ast.parse(path.read_text()).body
                yield from ((path, node) for node in found if isinstance(node, ast.ClassDef))


def methods(node: ast.ClassDef) -> frozenset[str]:
    of = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(one.name for one in of if not one.name.startswith("_"))


def is_protocol(node: ast.ClassDef) -> bool:
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in bases)


def member(root: Path, path: Path) -> tuple[str, ...]:
    """Return the library or the service that a file belongs to."""
    return path.relative_to(root).parts[:2]


def find_fakes(root: Path) -> dict[str, list[str]]:
    """Return the files that define each class that replaces a port, by its name.

    That is a class with a name that starts with `Fake`, or one with all methods of a port of its
    own library or service.
    """
    ports: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for path, node in classes(root, of_tests=False):
        if is_protocol(node) and methods(node):
            ports.setdefault(member(root, path), []).append(methods(node))
    found: dict[str, list[str]] = {}
    for path, node in classes(root, of_tests=True):
        own = ports.get(member(root, path), [])
        is_stand_in = not node.name.startswith("Test") and any(
            port <= methods(node) for port in own
        )
        if node.name.startswith("Fake") or is_stand_in:
            found.setdefault(node.name, []).append(str(path.relative_to(root)))
    for path, node in classes(root, of_tests=False):
        if node.name.startswith("Fake"):
            found.setdefault(node.name, []).append(str(path.relative_to(root)))
    return found


@cache
def fakes() -> dict[str, list[str]]:
    return find_fakes(ROOT)


@pytest.mark.parametrize(
    ("name", "method", "is_found"),
    [("Fixed", "current", True), ("FakeOne", "other", True), ("Fixed", "other", False)],
)
def test_class_with_the_methods_of_a_port_is_found_under_any_name(
    tmp_path: Path, name: str, method: str, *, is_found: bool
) -> None:
    texts = {
        "src/ports.py": "class Prices(Protocol):\n    async def current(self): ...",
        "tests/test_a.py": f"class {name}:\n    async def {method}(self): ...",
    }
    for path, text in texts.items():
        place = tmp_path / "services/a" / path
        place.parent.mkdir(parents=True)
        place.write_text(text)

    assert (name in find_fakes(tmp_path)) is is_found


def test_each_definition_of_a_name_is_found(tmp_path: Path) -> None:
    paths = ["services/a/src/one.py", "services/a/src/two.py", "services/a/tests/three.py"]
    for path in paths:
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("class FakeOne: ...")

    assert sorted(find_fakes(tmp_path)["FakeOne"]) == paths


def test_every_fake_is_listed_once() -> None:
    listed = [*SUITES, *NO_COUNTERPART]

    assert sorted(listed) == sorted(fakes())
    assert {name: paths for name, paths in fakes().items() if len(paths) > 1} == {}


def test_mypy_checks_every_fake_of_a_port() -> None:
    tree = ast.parse(PORTS.read_text())
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    assert set(SUITES) - NO_PORT <= named
    assert {name for name in named if name.startswith("Fake")} <= set(SUITES)


@pytest.mark.parametrize("fake", SUITES)
def test_suite_of_a_fake_uses_the_fake_and_the_real_class(fake: str) -> None:
    path, real, more = SUITES[fake]

    for one in (path, *more):
        called = {
            node.func.id
            for node in ast.walk(ast.parse((ROOT / one).read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert {fake, real} <= called, one


@pytest.mark.parametrize("fake", sorted(SUITES.keys() - NO_PORT))
def test_suite_of_a_fake_calls_each_method_of_its_ports(fake: str) -> None:
    required = methods_of_ports(fake)
    suite = files_of(SUITES[fake])

    named = {
        node.attr
        for path in suite
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    assert required
    assert sorted(required - named) == []


def methods_of_ports(fake: str) -> frozenset[str]:
    """Return the methods of a fake that a port of its library or service has."""
    [path] = fakes()[fake]
    [node] = [
        one
        for one in ast.parse((ROOT / path).read_text()).body
        if isinstance(one, ast.ClassDef) and one.name == fake
    ]
    of_ports = (
        methods(port)
        for place, port in classes(ROOT, of_tests=False)
        if is_protocol(port) and member(ROOT, place) == member(ROOT, ROOT / path)
    )
    return methods(node) & frozenset[str]().union(*of_ports)


def files_of(suite: Suite) -> Sequence[Path]:
    """Return the files of a suite: with fixtures in a `conftest.py`, those of its folder."""
    paths = [ROOT / path for path in (suite.path, *suite.more)]
    folders = [path.parent for path in paths if path.name == "conftest.py"]
    return [*paths, *(path for folder in folders for path in sorted(folder.glob("test_*.py")))]
