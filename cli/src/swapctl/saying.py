"""Who says so: every order is kept with a name."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

By = Annotated[
    str, typer.Option(default_factory=getpass.getuser, help="Who says so.", show_default=False)
]
