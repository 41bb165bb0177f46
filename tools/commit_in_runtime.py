"""Fail when anything but the runtime commits or notifies: a use case is one transaction.

What notifies commits alone, of all transactions of all databases: only `wake.py` does, afterwards.
"""

import ast
import sys
from pathlib import Path

COMMITTERS = ("swap_runtime",)


def offences(tree: ast.AST) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if _commits(node) or (isinstance(node, ast.Constant) and "pg_notify" in str(node.value))
    ]


def _commits(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "commit" or _opens(node.func)


def _opens(function: ast.Attribute) -> bool:
    return function.attr == "begin" and "engine" in ast.unparse(function.value)


def main(roots: list[str]) -> int:
    found = [f"{root}: no file to check" for root in roots if not [*Path(root).rglob("*.py")]]
    found += [
        f"{path}:{line}: only swap_runtime opens and commits a transaction, or notifies"
        for root in roots
        for path in sorted(Path(root).rglob("*.py"))
        if not set(COMMITTERS) & set(path.parts) and "migrations" not in path.parts
        for line in offences(ast.parse(path.read_text()))
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
