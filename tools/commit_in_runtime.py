"""Fail when anything but the runtime commits: one use case is one transaction."""

import ast
import sys
from pathlib import Path

COMMITTERS = ("swap_runtime",)


def offences(tree: ast.AST) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr == "commit" or _opens(node.func))
    ]


def _opens(function: ast.Attribute) -> bool:
    return function.attr == "begin" and "engine" in ast.unparse(function.value)


def main(roots: list[str]) -> int:
    found = [
        f"{path}:{line}: only swap_runtime.database opens and commits a transaction"
        for root in roots
        for path in sorted(Path(root).rglob("*.py"))
        if not set(COMMITTERS) & set(path.parts) and "migrations" not in path.parts
        for line in offences(ast.parse(path.read_text()))
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
