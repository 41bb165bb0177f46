"""Runs mutmut on the part in the working directory: `mutmut_once.py CHILDREN [PATTERN]`.

The two largest costs are paid once here. The tests are collected once and not in every mutant's
process. Mypy reads the mutants again only when their code has changed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import mutmut.__main__ as mutmut_cli
import pytest
from _pytest.config import _prepareconfig
from _pytest.runner import runtestprotocol
from mutmut.configuration import config
from mutmut.mutation.file_mutation import group_by_path
from mutmut.runners.harness import PytestRunner
from mutmut.type_checking import run_type_checker
from mutmut.utils.file_utils import change_cwd
from mutmut.utils.format_utils import get_mutant_name, is_mutated_method_name
from mutmut.workers.isolation import ForkRunner

MUTANTS: Final = Path("mutants")
REFUSED: Final = Path("refused-by-mypy.json")


class SharedCollection(PytestRunner):
    """Runs tests of a session that the parent process has collected."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, pytest.Item] = {}

    def collect(self) -> None:
        with change_cwd(MUTANTS):
            arguments = ["--rootdir=.", "--tb=native", "-q", *self._pytest_add_cli_args]
            pytest_config = _prepareconfig([*arguments, *self._pytest_add_cli_args_test_selection])
            pytest_config._do_configure()
            session = pytest.Session.from_config(pytest_config)
            pytest_config.hook.pytest_sessionstart(session=session)
            pytest_config.hook.pytest_collection(session=session)
        self._items = {item.nodeid: item for item in session.items}

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        """Return 1 when a test fails; the cheapest come first."""
        if mutant_name is None:
            return super().run_tests(mutant_name=mutant_name, tests=tests)
        items = [self._items[name] for name in tests]
        with change_cwd(MUTANTS):
            for item, following in zip(items, [*items[1:], None], strict=True):
                reports = runtestprotocol(item, log=False, nextitem=following)
                if any(report.failed for report in reports):
                    return 1
        return 0


class Runner(ForkRunner):
    def __init__(self, children: int = 1) -> None:
        self._tests = SharedCollection()
        super().__init__(children, self._tests)

    def startup(self) -> None:
        self._tests.collect()
        super().startup()


def refused_by_mypy() -> dict[str, SimpleNamespace]:
    """Return the mutants that mypy refuses, from its last run where no code has changed since."""
    sources = sorted([*MUTANTS.glob("src/**/*.py"), *MUTANTS.glob("libs/**/src/**/*.py")])
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stored = json.loads(REFUSED.read_text()) if REFUSED.is_file() else {}
    if stored.get("code") != code:
        with change_cwd(MUTANTS):
            stored = {"code": code, "errors": dict(errors_of_mutants())}
        REFUSED.write_text(json.dumps(stored))
    return {
        name: SimpleNamespace(error=SimpleNamespace(error_description=error))
        for name, error in stored["errors"].items()
    }


def errors_of_mutants() -> Iterator[tuple[str, str]]:
    """Return what mypy says about each mutant that it refuses."""
    by_file = group_by_path(run_type_checker(config().type_check_command))
    for path, errors in by_file.items():
        lines = {
            line: node.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_mutated_method_name(node.name)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        for error in errors:
            function = lines[error.line_number]
            yield get_mutant_name(path.relative_to(Path.cwd()), function), error.error_description


if __name__ == "__main__":
    children, *patterns = sys.argv[1:]
    once = {"get_mutant_runner": Runner, "filter_mutants_with_type_checker": refused_by_mypy}
    vars(mutmut_cli).update(once)
    mutmut_cli._run(patterns, int(children))
