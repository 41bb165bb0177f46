"""Identities of operators: created here, configured in the services."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Final

import typer

from swapctl.output import Json, show

operator = typer.Typer(no_args_is_help=True, help="Identities of operators.")
TOKEN_BYTES: Final = 32


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    SERVICE = "service"


@operator.command("new")
def new_operator(
    name: Annotated[str, typer.Argument(help="In lower case; the log of orders shows it.")],
    *,
    role: Annotated[Role, typer.Option(help="viewer: reads. service: another service.")] = (
        Role.OPERATOR
    ),
    days: Annotated[
        int | None, typer.Option(min=1, help="Days for which the token is valid.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a token and its entry of SWAP_OPERATORS. Nothing is stored."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    entry: dict[str, Any] = {
        "name": name,
        "role": role.value,
        "token_sha256": sha256(token.encode()).hexdigest(),
    }
    if days is not None:
        entry["expires_at"] = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    show({"token": token, "entry": entry}, as_json=as_json)
