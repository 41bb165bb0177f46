"""Output of commands: a table, or JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def show(row: Mapping[str, Any], *, as_json: bool) -> None:
    """Print one object."""
    if as_json:
        typer.echo(json.dumps(row, default=str))
        return
    width = max(map(len, row), default=0)
    for name, value in row.items():
        typer.echo(f"{name:<{width}}  {_text(value)}")


def show_all(
    rows: Sequence[Mapping[str, Any]], *, as_json: bool, columns: Sequence[str] = ()
) -> None:
    """Print rows as a table of `columns`, or as JSON with all members."""
    if as_json:
        typer.echo(json.dumps(list(rows), default=str))
        return
    if not rows:
        typer.echo("none")
        return
    names = list(columns or rows[0])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_text(row.get(name)) for name in names))
    # A pipe has no width, so nothing is folded there.
    Console(width=None if Console().is_terminal else 1000, highlight=False).print(table)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    return str(value)
