"""The import contracts hold: an added import that breaks one is found and named."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = (*sorted(ROOT.glob("libs/*/src")), *sorted(ROOT.glob("services/*/src")), ROOT / "cli/src")
LINT = Path(sys.executable).parent / "lint-imports"
PLANTED = [
    (
        "swap_api/swaps/decide/amounts.py",
        "import swap_settler.model.swap",
        "Services stand on libs",
    ),
    ("swap_api/model/keys.py", "import pydantic", "standard library only"),
    ("swap_api/swaps/decide/amounts.py", "import asyncio", "standard library only"),
    ("swap_api/funding/usecases/offer_gasless.py", "import swap_api.swaps.build", "In the api"),
    ("swap_api/read_model/swaps.py", "import swap_api.http.errors", "In the api"),
    ("swap_api/swaps/store/hints.py", "import swap_api.swaps.http.swaps", "package of the api"),
    ("swap_api/swaps/http/swaps.py", "import swap_api.swaps.store.hints", "only through use cases"),
    ("swap_settler/model/swap.py", "import pydantic", "standard library only"),
    ("swap_settler/model/swap.py", "import swap_settler.app", "only from the packages below"),
    ("swap_settler/settling/handlers/deposits.py", "import sqlalchemy", "only through use cases"),
    ("swap_settler/gasless/decide/relaying.py", "import asyncio", "standard library only"),
    ("swap_settler/operator/http/records.py", "import swap_settler.operator.store.caps", "only th"),
    ("swap_chain_watcher/http/networks.py", "import swap_chain_watcher.adapters.rows", "only thr"),
    ("swap_contracts/swaps.py", "import sqlalchemy", "pydantic and nothing else"),
    ("swap_quoter/adapters/price_file.py", "import web3", "Only swap_chains.evm speaks web3"),
    ("swap_runtime/postgres/sql.py", "import swap_runtime.messaging.outbox", "In the runtime"),
    ("swap_runtime/http/asgi.py", "import swap_runtime.messaging.relay", "In the runtime"),
    ("swapctl/app.py", "import swap_runtime.clock", "imports none of our packages"),
    ("swap_notifier/usecases/add_endpoint.py", "import svix", "the client speak svix"),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all sources in one place, for added imports."""
    copy = tmp_path_factory.mktemp("tree")
    for source in SOURCES:
        shutil.copytree(source, copy, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@pytest.mark.parametrize(("file", "planted", "wall"), PLANTED)
def test_an_import_across_a_wall_breaks_its_contract(
    tree: Path, file: str, planted: str, wall: str
) -> None:
    path = tree / file
    original = path.read_text()
    path.write_text(f"{original}\n{planted}\n")
    try:
        checked = subprocess.run(
            [LINT, "--no-cache", "--config", tree / "pyproject.toml"],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(original)

    broken = [line for line in checked.stdout.splitlines() if line.endswith("BROKEN")]
    assert checked.returncode != 0
    assert any(wall in line for line in broken), checked.stdout


def contract(id: str) -> Mapping[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [found] = [one for one in settings["contracts"] if one["id"] == id]
    return cast(Mapping[str, Any], found)


def files_of(modules: Iterable[str]) -> Iterator[Path]:
    """Yield the files of modules and packages; a name may have `*`."""
    for source in SOURCES:
        for module in modules:
            for path in source.glob(module.replace(".", "/")):
                yield from path.rglob("*.py")
            yield from source.glob(f"{module.replace('.', '/')}.py")


def test_domain_code_imports_the_standard_library_and_our_packages_only() -> None:
    """The contract names packages that it forbids; here every other one is refused as well."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    allowed = {*settings["root_packages"], *sys.stdlib_module_names}
    files = [*files_of(contract("pure-domain")["source_modules"])]
    imported = {(path.name, name) for path in files for name in imported_by(path)}

    assert {path.name for path in files} >= {"swap.py", "deposits.py", "catalogue.py"}
    assert [one for one in imported if one[1].partition(".")[0] not in allowed] == []


def test_every_http_and_handlers_package_reaches_the_world_through_use_cases() -> None:
    packages = {
        package
        for source in SOURCES
        for name in ("http", "handlers")
        for package in source.glob(f"swap_*/**/{name}")
        if "swap_runtime" not in package.parts
    }
    named = {path.parent for path in files_of(contract("handlers-are-thin")["source_modules"])}

    assert packages
    assert packages - named == set()


def test_the_settlers_model_is_pure_up_to_its_ports() -> None:
    """The modules in the model's lowest layer must use the standard library only."""
    lowest = contract("settler-model")["layers"][-1].split(" : ")
    pure = contract("pure-domain")["source_modules"]
    assert [one for one in pure if one.startswith("swap_settler.model.")] == [
        f"swap_settler.model.{one}" for one in lowest
    ]


def imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imports_across_services(services: Path) -> list[tuple[str, str]]:
    """Return the test files that import from another service's tests, with the imports."""
    return [
        (path.relative_to(services).as_posix(), name)
        for path in sorted(services.glob("*/tests/**/*.py"))
        for name in imported_by(path)
        if re.match(r"services\.[\w-]+\.tests\b", name)
        and name.split(".")[1].replace("_", "-") != path.relative_to(services).parts[0]
    ]


def test_no_service_imports_the_tests_of_another() -> None:
    """Shared code of the tests of several services is in tests/support."""
    assert [*(ROOT / "services").glob("*/tests/**/*.py")]
    assert imports_across_services(ROOT / "services") == []


def test_an_import_of_another_services_tests_is_found(tmp_path: Path) -> None:
    path = tmp_path / "api/tests/test_one.py"
    path.parent.mkdir(parents=True)
    path.write_text("from services.api.tests.a import b\nfrom services.settler.tests.c import d\n")

    assert imports_across_services(tmp_path) == [
        ("api/tests/test_one.py", "services.settler.tests.c")
    ]
