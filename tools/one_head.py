"""A service's migrations are one line: two that follow the same one are applied in no order."""

import ast
import sys
from collections import defaultdict
from pathlib import Path

NAMES = ("revision", "down_revision")


def values_in(path: Path) -> dict[str, object]:
    """Return what a migration says of itself."""
    found: dict[str, object] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found |= {name: node.value.value for name in names if name in NAMES}
    return found


def faults(folder: Path) -> list[str]:
    by: dict[str, dict[object, list[str]]] = {name: defaultdict(list) for name in NAMES}
    for path in sorted(folder.glob("*.py")):
        for name, value in values_in(path).items():
            by[name][value].append(path.name)
    found = [
        f"{folder}: {', '.join(files)} have the same {name}, {value}"
        for name in NAMES
        for value, files in by[name].items()
        if len(files) > 1
    ]
    unknown = by["down_revision"].keys() - by["revision"].keys() - {None}
    return found + [f"{folder}: nothing has the revision {value}" for value in sorted(unknown)]


if __name__ == "__main__":
    problems = [fault for name in sys.argv[1:] for fault in faults(Path(name))]
    sys.exit("\n".join(problems) or None)
