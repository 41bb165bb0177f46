"""Stuck swaps: longer in one status than docs/maximum-durations.md allows."""

from __future__ import annotations

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show_all

COLUMNS = ("swap_id", "status", "since")


def list_stuck(context: typer.Context, *, as_json: Json = False) -> None:
    """List stuck swaps."""
    result = internal(context, ServiceName.SETTLER).get_all("/stuck", "stuck")
    show_all(result, as_json=as_json, columns=COLUMNS)
