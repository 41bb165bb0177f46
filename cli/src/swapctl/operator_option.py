"""Options of operators' orders."""

from __future__ import annotations

from typing import Annotated, Any

import typer

# Older scripts send it; it has no effect.
IgnoredBy = Annotated[
    str | None,
    typer.Option("--by", hidden=True, help="Ignored: the token identifies the operator."),
]


def reason_option(prompt: str, note: str | None = "Stored permanently.") -> Any:
    """Return the option of an order's reason, which is prompted for."""
    return typer.Option(prompt=prompt, help=note)
