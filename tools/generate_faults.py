"""Write docs/faults/ from tests/fault_rows.toml and the tests that carry its rows."""

import re
from collections.abc import Sequence

from generating import write_or_check

from tests.plugins.fault_rows import Carrier, Row, carriers, rows

FOLDER = "docs/faults"
HEAD = """# Faults and their tests

Generated from `tests/fault_rows.toml` and from the tests by `make generate`. A test names its rows
by `@pytest.mark.fault("S13")`, a Foundry test in its own name (`test_G16_…`). `pytest --fault S13`
runs the Python tests of one row; `tests/test_fault_rows.py` fails when a row has none.

A guard is the code without which the test of a row was seen to fail.

| rows | faults of |
|---|---|
"""
SECTIONS = {
    "S": "Sending",
    "R": "Reorgs",
    "W": "Watching",
    "K": "Kafka, outbox and inbox",
    "P": "Postgres",
    "Rr": "Redis",
    "N": "Webhooks",
    "A": "Keys, requests, limits",
    "G": "Gasless deposits and contracts",
    "M": "Money, time, operations",
}


def section_of(name: str) -> str:
    return name.rstrip("0123456789") if name[-1].isdigit() else f"{name[0]}r"


def shown_by(name: str, row: Row, carried: Sequence[Carrier]) -> str:
    if row.cannot_apply:
        return f"cannot apply: {row.cannot_apply}"
    paths = sorted({one.path for one in carried if one.row == name})
    return ", ".join(f"[{label(path)}](../../{path})" for path in paths)


def label(path: str) -> str:
    """Return a path without the folders that every path has."""
    return re.sub(r"^(services|libs|deploy)/|(?<=/)tests?/", "", path)


def file_of(title: str) -> str:
    return f"{title.lower().replace(',', '').replace(' ', '-')}.md"


def index() -> str:
    names = list(rows())
    lines = []
    for kind, title in SECTIONS.items():
        of_kind = [name for name in names if section_of(name) == kind]
        lines.append(f"| {of_kind[0]} to {of_kind[-1]} | [{title}]({file_of(title)}) |\n")
    return HEAD + "".join(lines)


def page(kind: str, title: str, carried: Sequence[Carrier]) -> str:
    shown = {name: row for name, row in rows().items() if section_of(name) == kind}
    lines = [f"# Faults: {title}", ""]
    lines += ["| row | fault | what holds | shown by |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {row.fault} | {row.holds} | {shown_by(name, row, carried)} |"
        for name, row in shown.items()
    ]
    guards = [f"| {name} | {row.guard} |" for name, row in shown.items() if row.guard]
    if guards:
        lines += ["", "| row | guard |", "|---|---|", *guards]
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    carried = carriers()
    return {f"{FOLDER}/README.md": index()} | {
        f"{FOLDER}/{file_of(title)}": page(kind, title, carried) for kind, title in SECTIONS.items()
    }


if __name__ == "__main__":
    write_or_check(pages())
