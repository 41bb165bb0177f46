"""Checks that are given paths or modules have some: none of them passes on an empty set."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
MAKEFILE: Final = ROOT / "Makefile"
MEMBERS: Final = ("libs/*", "services/*", "cli")
CONTRACTS: Final[list[dict[str, Any]]] = tomllib.loads((ROOT / "pyproject.toml").read_text())[
    "tool"
]["importlinter"]["contracts"]
EXPRESSIONS: Final = (
    "source_modules", "forbidden_modules", "protected_modules", "allowed_importers", "containers",
    "ancestors",
)  # fmt: skip
INSIDE: Final = ("service-layers", "service-layers-few-ports", "api-inside", "settler-inside")
# A pattern of which make itself sets a part is looked at by what a variable becomes.
WILDCARD: Final = re.compile(r"\$\(wildcard ([^$()]+)\)")


@cache
def modules() -> dict[str, Path]:
    """Return all modules of libraries, services and the command line, with their files."""
    found: dict[str, Path] = {}
    for source in (one for pattern in MEMBERS for one in ROOT.glob(f"{pattern}/src")):
        for path in (one for one in source.rglob("*") if one.suffix == ".py" or one.is_dir()):
            if "__pycache__" not in path.parts and path.name != "__init__.py":
                found[".".join(path.relative_to(source).with_suffix("").parts)] = path
    return found


def matching(expression: str) -> dict[str, Path]:
    """Return the modules that an expression names; `*` is one name, `**` is several."""
    names = {"*": r"[^.]+", "**": r".+"}
    pattern = r"\.".join(names.get(part, re.escape(part)) for part in expression.split("."))
    return {name: path for name, path in modules().items() if re.fullmatch(pattern, name)}


def expressions() -> Iterator[tuple[str, str]]:
    """Yield each contract's name with each module of ours that it names."""
    packages = {name for name in modules() if "." not in name}
    for contract in CONTRACTS:
        for expression in (one for key in EXPRESSIONS for one in contract.get(key, [])):
            if expression.partition(".")[0] in {*packages, "*"}:
                yield contract["id"], expression


def expand(variable: str) -> list[str]:
    """Return the words of a variable, as make sees them."""
    without = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # of a make that runs the tests
    printed = subprocess.run(
        ["make", "--silent", f"--eval=show-it:;@echo $({variable})", "show-it"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in without},
        capture_output=True,
        text=True,
        check=True,
    )
    return printed.stdout.split()


@pytest.mark.parametrize(("contract", "expression"), [*expressions()])
def test_every_module_of_an_import_contract_exists(contract: str, expression: str) -> None:
    assert matching(expression), contract


def test_a_wildcard_stands_for_one_name() -> None:
    assert "swap_settler.paying.decide" in matching("swap_settler.*.decide")
    assert not matching("swap_settler.*.decisions")
    assert not matching("swap_settler.*")["swap_settler.paying"].suffix


def test_every_wildcard_of_the_makefile_matches() -> None:
    patterns = [pattern for of in WILDCARD.findall(MAKEFILE.read_text()) for pattern in of.split()]

    assert len(patterns) >= 10
    assert [pattern for pattern in patterns if not any(ROOT.glob(pattern))] == []


def test_every_library_and_service_has_its_sources_where_checks_look() -> None:
    members = [one.parent for pattern in MEMBERS for one in ROOT.glob(f"{pattern}/pyproject.toml")]
    packages = [path.name for one in members for path in one.glob("src/swap*")]

    assert len(packages) == len(members) >= 10
    assert {str(one.relative_to(ROOT)) for one in members} <= set(expand("MEMBERS"))
    assert set(packages) <= set(expand("PACKAGES"))


def test_pure_code_is_checked_for_floats() -> None:
    """The lowest layer of each package is standard library only, and has no floats."""
    (pure,) = (one["source_modules"] for one in CONTRACTS if one["id"] == "pure-domain")
    is_pure = {name: path for expression in pure for name, path in matching(expression).items()}
    lowest = {
        f"{container}.{contract['layers'][-1].strip('()')}"
        for contract in CONTRACTS
        if contract["id"] in INSIDE
        for container in contract["containers"]
    } & modules().keys()
    money = [ROOT / path for path in expand("MONEY")]

    assert len(lowest) >= 15
    assert lowest <= is_pure.keys()
    assert [
        name
        for name, path in is_pure.items()
        if not any(path == one or one in path.parents for one in money)
    ] == []
