"""Fail when anything but the runtime commits or notifies: a use case is one transaction.

What notifies commits alone, of all transactions of all databases: only `wake.py` does, afterwards.
"""

import ast
from pathlib import Path

from linting import lint

COMMITTERS = ("swap_runtime",)


def source_files(root: str) -> list[Path]:
    return sorted(Path(root).rglob("*.py"))


def offences(path: Path) -> list[str]:
    if set(COMMITTERS) & set(path.parts) or "migrations" in path.parts:
        return []
    return [
        f"{path}:{node.lineno}: only swap_runtime opens and commits a transaction, or notifies"
        for node in ast.walk(ast.parse(path.read_text()))
        if _commits(node) or (isinstance(node, ast.Constant) and "pg_notify" in str(node.value))
    ]


def _commits(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "commit" or _opens(node.func)


def _opens(function: ast.Attribute) -> bool:
    return function.attr == "begin" and "engine" in ast.unparse(function.value)


if __name__ == "__main__":
    lint(source_files, offences)
