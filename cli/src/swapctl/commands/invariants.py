"""Invariants of money, as queries that return violations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from swapctl.admin_client import RequestFailed
from swapctl.auditor import open_auditor
from swapctl.context import get_endpoints
from swapctl.output import Json

QUERIES: Final = Path("deploy/postgres/invariants/queries.sql")
NAMED: Final = re.compile(r"^-- name: (.+)$", re.MULTILINE)


def check_invariants(
    context: typer.Context,
    *,
    queries: Annotated[
        Path,
        typer.Option(
            help="A file of queries, each below `-- name: …`; a row is a violation. "
            "The default is found from the root of a checkout."
        ),
    ] = QUERIES,
    as_json: Json = False,
) -> None:
    """Run every invariant; the exit code is 1 if one is violated."""
    found: dict[str, list[dict[str, Any]]] = {}
    with open_auditor(get_endpoints(context).auditor_url) as auditor:
        auditor.use_schema("invariant")
        for name, query in read_queries(queries).items():
            found[name] = auditor.rows(query.encode())
    if as_json:
        typer.echo(json.dumps(found, default=str))
    else:
        for name, rows in found.items():
            typer.echo(f"{name}: {f'{len(rows)} violations' if rows else 'holds'}")
            for row in rows:
                typer.echo(f"  {json.dumps(row, default=str)}")
    if any(found.values()):
        raise typer.Exit(1)


def read_queries(path: Path) -> dict[str, str]:
    """Return the queries of a file by their names.

    :raises RequestFailed: when it cannot be read or names none.
    """
    try:
        _, *parts = NAMED.split(path.read_text())
    except OSError as error:
        where = "run this in a checkout, or name the file by --queries"
        raise RequestFailed(f"{path} cannot be read ({error}): {where}") from error
    if not parts:
        raise RequestFailed(f"there are no queries in {path}")
    return dict(zip(parts[::2], parts[1::2], strict=True))
