"""An option of older scripts; it has no effect."""

from __future__ import annotations

from typing import Annotated

import typer

IgnoredBy = Annotated[
    str | None,
    typer.Option("--by", hidden=True, help="Ignored: the token identifies the operator."),
]
