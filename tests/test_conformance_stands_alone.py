"""The conformance suite depends on the specification only, not on this service."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conformance import tables
from tests.conformance.shapes import is_known

ROOT = Path(__file__).parents[1]
SUITE = ROOT / "tests/conformance"
KINDS = ("rule", "refusal", "fields", "enum", "endpoint", "code")
# They cannot be caused from outside, or this service never returns them; coverage.txt has the
# reasons.
UNREACHED_CODES = {"UNEXPECTED_ERROR", "SERVICE_UNAVAILABLE", "PRICE_IMPACT_TOO_HIGH"}
# Part 4 of the specification, and part 2 of the decisions.
ENDPOINTS = """\
POST /api/v2/swaps
GET /api/v2/swaps
GET /api/v2/swaps/{}
GET /api/v2/experimental/swaps/{}
GET /api/v2/swaps/by_transaction_hash/{}
GET /api/v2/swaps/{}/deposit_actions
POST /api/v2/swaps/{}/authorize
GET /api/v2/swaps/{}/authorize
POST /api/v2/swaps/{}/deposit_speedup
GET /api/v2/transaction_status
GET /api/v2/networks
GET /api/v2/quote
GET /api/v2/detailed_quote
GET /api/v2/limits
POST /api/swap_rate
GET /api/v2/health
GET /api/v2/sources
GET /api/v2/destinations
GET /api/v2/source_exchanges
GET /api/v2/exchange_withdrawal_networks
GET /api/v2/swaps/internal
GET /api/v2/swaps/{}/events
GET /api/v2/swaps/{}/ledger
GET /api/v2/errors
GET /api/v2/status
POST /api/v2/swaps/{}/refund_address"""
OTHERS = {"pytest", "httpx", "eth_account", "eth_utils"}


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else str(node.module)


def is_outside(name: str) -> bool:
    is_of_the_suite = name == "tests.conformance" or name.startswith("tests.conformance.")
    return is_of_the_suite or name.partition(".")[0] in OTHERS | sys.stdlib_module_names


def test_the_suite_imports_no_module_of_the_project() -> None:
    used = {name for path in SUITE.rglob("*.py") for name in imports_of(path)}

    assert {name for name in used if not is_outside(name)} == set()


def test_every_rule_has_a_test_and_every_test_a_rule() -> None:
    carried = Counter(
        tuple(ast.literal_eval(argument) for argument in call.args)
        for path in SUITE.glob("test_*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in ("rule", "pytest.mark.rule")
        and all(isinstance(argument, ast.Constant) for argument in call.args)
    )

    assert set(tables.rules()) - set(carried) == set()
    assert set(carried) - set(tables.rules()) == set()


def test_every_type_of_the_tables_is_one() -> None:
    assert {field.type for field in tables.fields() if not is_known(field.type)} == set()
    assert {f.model for f in tables.fields()} == set(tables.models())
    data_types = {endpoint.data for endpoint in tables.endpoints()} - {"-"}
    assert {kind for kind in data_types if not is_known(kind)} == set()


def test_no_line_stands_twice_in_a_table() -> None:
    fields = Counter((field.model, field.name) for field in tables.fields())
    endpoints = Counter((endpoint.method, endpoint.path) for endpoint in tables.endpoints())

    assert max(fields.values()) == max(endpoints.values()) == 1


def test_every_refusal_has_the_status_of_its_code() -> None:
    for row in tables.refusals():
        assert tables.codes()[row.code] == row.status, row.situation


def test_every_line_of_the_specification_is_walked() -> None:
    walking = walkers()
    for line in tables.coverage():
        assert line.walked_by, line.sentence
        for named in line.walked_by:
            kind, _, name = named.partition(":")
            assert matching(walking.get(kind, ()), name) or is_explained(kind, name), named


def test_every_walker_of_the_tables_belongs_to_a_line() -> None:
    walked = {named for line in tables.coverage() for named in line.walked_by}
    used = {
        kind: {n.partition(":")[2] for n in walked if n.startswith(f"{kind}:")} for kind in KINDS
    }
    walking = walkers()

    assert {
        kind: walking[kind] - {name for n in used[kind] for name in matching(walking[kind], n)}
        for kind in KINDS
    } == {kind: set() for kind in KINDS}


def walkers() -> dict[str, set[str]]:
    """Return everything that covers a line, by kind."""
    return {
        "rule": {f"{section}/{name}" for section, name in tables.rules()},
        "refusal": {row.situation for row in tables.refusals()},
        "fields": set(tables.models()),
        "enum": set(tables.enums()),
        "endpoint": {endpoint.name for endpoint in tables.endpoints()},
        "code": set(tables.codes()),
    }


def matching(names: Iterable[str], wanted: str) -> set[str]:
    if wanted.endswith("*"):
        return {name for name in names if name.startswith(wanted[:-1])}
    return {name for name in names if name == wanted}


def is_explained(kind: str, name: str) -> bool:
    """Return whether it is a test of the project, or a reason for no test."""
    return (kind == "elsewhere" and (ROOT / name).exists()) or (kind == "open" and len(name) > 20)


def test_every_code_is_met_or_has_a_reason() -> None:
    reached = {row.code for row in tables.refusals()}
    source = "\n".join(path.read_text() for path in SUITE.glob("test_*.py"))
    silent = set(tables.codes()) - reached - {c for c in tables.codes() if f'"{c}"' in source}

    assert silent == UNREACHED_CODES


def test_the_endpoints_are_those_of_the_specification() -> None:
    listed = {
        f"{row.method} {re.sub('{.*?}', '{}', row.path.partition('?')[0])}"
        for row in tables.endpoints()
    }

    assert listed == set(ENDPOINTS.split("\n"))
