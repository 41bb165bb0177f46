"""docs/own-plumbing.md lists the files that a library could replace, with their numbers of lines.

Each module of the runtime, the chains' library and the api's `http` is on the page, or here with a
reason.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/own-plumbing.md"
ROW: Final = re.compile(r"\| (?P<files>\[.*?\)) \| (?P<lines>\d+) \|")
FILE: Final = re.compile(r"\]\(([^)]+\.(?:py|js))\)")
TOTAL: Final = re.compile(r"^Together ([\d,]+) lines\.$", re.MULTILINE)
# The page is corrected when it differs from the code, not after every change of a line.
TOLERANCE: Final = 0.1
LINES_FREE: Final = 10
RUNTIME: Final = ROOT / "libs/runtime/src/swap_runtime"
CHAINS: Final = ROOT / "libs/chains/src/swap_chains/evm"
API: Final = ROOT / "services/api/src/swap_api/http"
NOT_PLUMBING: Final = {
    RUNTIME: {
        "definitions that services share: errors, time, settings, the catalogue": (
            "catalogue", "clock", "errors", "public_catalogue", "settings",
        ),
        "rules of the system: who is paid, and what a handler may do": ("handling", "screening"),
        "options of a library, which does the work": (
            "messaging/kafka_security", "messaging/topics", "process/files",
            "telemetry/build_info", "telemetry/logging", "telemetry/metrics", "tls",
        ),
        "the shape of our tables and messages, and checks of it": (
            "messaging/records", "messaging/sources", "messaging/unit_of_work",
            "postgres/assets_in_use", "postgres/schema", "postgres/schema_version",
        ),
        "what operators read and order": (
            "http/internal", "messaging/parked_routes", "operators/admin_routes",
            "operators/identities", "operators/operator_log", "operators/order_desk",
            "operators/paging", "operators/proposals",
        ),
        "where a process begins, and where tests kill it": (
            "crashpoint", "process/service",
        ),
    },
    CHAINS: {
        "what counts as a block, a deposit or a payment, and by which nodes": (
            "agreed_finality", "balances", "block_fetcher", "blocks", "follower", "l1_data_fees",
            "movements", "price_feeds", "provider_agreement", "providers", "reader",
            "reported_transfers", "state", "transaction_lookup",
        ),
        "the calls of our contracts, of tokens and of wallets": (
            "deposit_addresses", "depositories", "gasless", "gasless_reader", "memos",
            "personal_signatures", "wallet_calls",
        ),
        "options of a library, which does the work": ("aws_kms", "deploy"),
        "the startup check": ("check", "check_roles"),
    },
    API: {
        "what the interface takes, answers and says of itself": (
            "descriptions", "endpoints", "error_page", "errors", "examples", "openapi",
            "operator_routes", "parameters", "request_schemas", "shipped_openapi",
        ),
        "who may call, and the order of the middlewares": ("admission", "app"),
    },
}  # fmt: skip


def rows() -> list[tuple[list[Path], int]]:
    """Return the files of each row of the page, with the lines that it states."""
    return [
        ([(PAGE.parent / file).resolve() for file in FILE.findall(row["files"])], int(row["lines"]))
        for row in ROW.finditer(PAGE.read_text())
    ]


def lines_of(file: Path) -> int:
    return len(file.read_text().splitlines())


def test_every_row_has_about_the_lines_of_its_files() -> None:
    wrong = [
        ([file.name for file in files], listed, actual)
        for files, listed in rows()
        if abs(listed - (actual := sum(map(lines_of, files)))) > max(LINES_FREE, TOLERANCE * actual)
    ]

    assert len(rows()) >= 30
    assert wrong == []


def test_the_total_is_the_sum_of_the_rows() -> None:
    [total] = TOTAL.findall(PAGE.read_text())

    assert int(total.replace(",", "")) == sum(listed for _, listed in rows())


@pytest.mark.parametrize("folder", NOT_PLUMBING, ids=lambda folder: folder.name)
def test_every_module_is_on_the_page_or_named_as_no_plumbing(folder: Path) -> None:
    modules = [path for path in folder.rglob("*.py") if path.name != "__init__.py"]
    listed = [file for files, _ in rows() for file in files if folder in file.parents]
    named = [folder / f"{name}.py" for group in NOT_PLUMBING[folder].values() for name in group]

    assert Counter(path.relative_to(folder) for path in [*listed, *named]) == Counter(
        path.relative_to(folder) for path in modules
    )


def test_a_file_is_listed_once() -> None:
    files = [file for listed, _ in rows() for file in listed]

    assert len(files) == len(set(files))
