"""Write docs/faults.md from tests/fault_rows.toml and the tests that carry its rows."""

import re
from collections.abc import Sequence

from generating import write_or_check

from tests.plugins.fault_rows import Carrier, Row, carriers, rows

TARGET = "docs/faults.md"
HEAD = """# Faults and their tests

Generated from `tests/fault_rows.toml` and from the tests by `make generate`. A test names its rows
by `@pytest.mark.fault("S13")`, a Foundry test in its own name (`test_G16_…`). `pytest --fault S13`
runs the Python tests of one row; `tests/test_fault_rows.py` fails when a row has none.
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
    return ", ".join(f"[{label(path)}](../{path})" for path in paths)


def label(path: str) -> str:
    """Return a path without the folders that every path has."""
    return re.sub(r"^(services|libs|deploy)/|(?<=/)tests?/", "", path)


def table(kind: str, carried: Sequence[Carrier]) -> str:
    lines = [
        f"| {name} | {row.fault} | {row.holds} | {shown_by(name, row, carried)} |"
        for name, row in rows().items()
        if section_of(name) == kind
    ]
    return "\n".join(["| row | fault | what holds | shown by |", "|---|---|---|---|", *lines])


def guards() -> str:
    lines = [f"| {name} | {row.guard} |" for name, row in rows().items() if row.guard]
    return "\n".join(["| row | guard |", "|---|---|", *lines])


def page() -> str:
    carried = carriers()
    sections = [f"## {title}\n\n{table(kind, carried)}\n" for kind, title in SECTIONS.items()]
    return "\n".join(
        [
            HEAD,
            *sections,
            "## Guards\n\nThe code without which the test of a row was seen to fail.\n",
            guards() + "\n",
        ]
    )


if __name__ == "__main__":
    write_or_check({TARGET: page()})
