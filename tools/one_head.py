"""Checks that each service's migrations form one line, and that the service requires the last one.

Two migrations with the same predecessor would be applied in no order. A service does not start on
a schema older than its `SCHEMA_REVISION`.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

NAMES = ("revision", "down_revision")
CONSTANT = "SCHEMA_REVISION"


def values_in(path: Path) -> dict[str, object]:
    """Return the revision of a migration, and the one that it follows."""
    found: dict[str, object] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found |= {name: node.value.value for name in names if name in NAMES}
    return found


def faults(folder: Path) -> list[str]:
    if not any(folder.glob("*.py")):
        return [f"{folder}: no migration to check"]
    files_by: dict[str, dict[object, list[str]]] = {name: defaultdict(list) for name in NAMES}
    for path in sorted(folder.glob("*.py")):
        values = values_in(path)
        if missing := [name for name in NAMES if name not in values]:
            return [f"{path}: has no {' and no '.join(missing)}"]
        for name, value in values.items():
            files_by[name][value].append(path.name)
    found = [
        f"{folder}: {', '.join(files)} have the same {name}, {value}"
        for name in NAMES
        for value, files in files_by[name].items()
        if len(files) > 1
    ]
    found += _out_of_order(folder) + _outdated_constants(folder, files_by["revision"])
    unknown = files_by["down_revision"].keys() - files_by["revision"].keys() - {None}
    return found + [f"{folder}: nothing has the revision {value}" for value in sorted(unknown)]


def _out_of_order(folder: Path) -> list[str]:
    """Report revisions that are no text in rising order: a service compares them as text."""
    migrations = [values_in(path) for path in sorted(folder.glob("*.py"))]
    return [
        f"{folder}: revision {revision} is not four digits after {previous}"
        for revision, previous in ((one["revision"], one["down_revision"]) for one in migrations)
        if not re.fullmatch(r"\d{4}", str(revision)) or str(revision) <= str(previous or "")
    ]


def _outdated_constants(folder: Path, revisions: Iterable[object]) -> list[str]:
    """Report each `SCHEMA_REVISION` that is not the last migration."""
    head = max(map(str, revisions), default="")
    apps = [*folder.parent.parent.glob("src/*/app.py")]
    return [
        *([] if apps else [f"{folder}: no app.py beside it requires the last migration"]),
        *(
            f"{app}: {CONSTANT} is not {head}, the last migration"
            for app in apps
            if f'{CONSTANT}: Final = "{head}"' not in app.read_text()
        ),
    ]


if __name__ == "__main__":
    folders = sys.argv[1:]
    problems = [] if folders else ["no folder of migrations to check"]
    problems += [fault for name in folders for fault in faults(Path(name))]
    sys.exit("\n".join(problems) or None)
