"""The sentences about money that must always be true, as queries that find their violations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from swapctl.auditor import auditing
from swapctl.context import places
from swapctl.internal import Failed
from swapctl.output import Json

DIRECTORY: Final = Path("deploy/postgres/invariants")


def check_invariants(
    context: typer.Context,
    *,
    directory: Annotated[
        Path, typer.Option(help="Queries, one a file; a row is a violation.")
    ] = DIRECTORY,
    as_json: Json = False,
) -> None:
    """Run every invariant; end with 1 if one is violated."""
    queries = sorted(directory.glob("*.sql"))
    if not queries:
        raise Failed(f"there are no queries in {directory}")
    found: dict[str, list[dict[str, Any]]] = {}
    with auditing(places(context).auditor_url) as auditor:
        for path in queries:
            found[path.stem] = auditor.rows(path.read_bytes())
    if as_json:
        typer.echo(json.dumps(found, default=str))
    else:
        for name, rows in found.items():
            typer.echo(f"{name}: {f'{len(rows)} violations' if rows else 'holds'}")
            for row in rows:
                typer.echo(f"  {json.dumps(row, default=str)}")
    if any(found.values()):
        raise typer.Exit(1)
