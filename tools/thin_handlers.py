"""Fail when a handler file does more than subscribe one use case to one topic."""

import ast
from pathlib import Path

from linting import lint

LINES_MAX = 40


def offences(path: Path) -> list[str]:
    source = path.read_text()
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "consume")
            or (isinstance(node.func, ast.Attribute) and node.func.attr == "consume")
        )
    ]
    found = []
    if len(calls) != 1:
        found.append(f"{path}: has {len(calls)} consume calls, not one")
    if source.count("\n") > LINES_MAX:
        found.append(f"{path}: is longer than {LINES_MAX} lines")
    return found


def handler_files(root: str) -> list[Path]:
    files = sorted(Path(root).rglob("handlers/*.py"))
    return [path for path in files if path.name != "__init__.py"]


if __name__ == "__main__":
    lint(handler_files, offences)
