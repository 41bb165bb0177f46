"""Partners, their apps and the keys of those."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer

from swapctl.context import internal
from swapctl.internal import Failed, Internal
from swapctl.output import Json, show, show_all
from swapctl.places import ServiceName

partner = typer.Typer(no_args_is_help=True, help="Who integrates the service.")
app = typer.Typer(no_args_is_help=True, help="What a partner integrates it into.")
key = typer.Typer(no_args_is_help=True, help="API keys. A key is shown once, when it is made.")


class Environment(StrEnum):
    LIVE = "live"
    TEST = "test"


class KeyKind(StrEnum):
    SECRET = "secret"
    PUBLISHABLE = "publishable"


AppId = Annotated[UUID, typer.Option("--app", help="The app's id.")]


@partner.command("create")
def create_partner(context: typer.Context, name: str, *, as_json: Json = False) -> None:
    """Make a partner."""
    show(internal(context, ServiceName.API).post("/partners", {"name": name}), as_json=as_json)


@partner.command("list")
def list_partners(context: typer.Context, *, as_json: Json = False) -> None:
    """List all partners."""
    show_all(_partners(internal(context, ServiceName.API)), as_json=as_json)


@app.command("create")
def create_app(
    context: typer.Context,
    *,
    of: Annotated[str, typer.Option("--partner", help="The partner's id or name.")],
    name: Annotated[str, typer.Option(help="What the app is called.")],
    environment: Annotated[Environment, typer.Option()] = Environment.TEST,
    limits_lifted: Annotated[
        bool, typer.Option("--limits-lifted", help="No rate limits, no limit of unpaid swaps.")
    ] = False,
    swap_lifetime: Annotated[
        int | None,
        typer.Option(min=1, help="Seconds for which its swaps wait for a deposit; test apps only."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make an app of a partner."""
    api = internal(context, ServiceName.API)
    body = {
        "partner_id": _partner_id(api, of),
        "name": name,
        "environment": environment.value,
        "limits_lifted": limits_lifted,
        "swap_lifetime_seconds": swap_lifetime,
    }
    show(api.post("/apps", body), as_json=as_json)


@app.command("list")
def list_apps(context: typer.Context, *, as_json: Json = False) -> None:
    """List all apps."""
    show_all(internal(context, ServiceName.API).get("/apps")["apps"], as_json=as_json)


@key.command("create")
def create_key(
    context: typer.Context,
    *,
    app_id: AppId,
    kind: Annotated[KeyKind, typer.Option()] = KeyKind.SECRET,
    as_json: Json = False,
) -> None:
    """Make an API key and show it, this once."""
    body = {"app_id": str(app_id), "kind": kind.value}
    show(internal(context, ServiceName.API).post("/keys", body), as_json=as_json)


@key.command("list")
def list_keys(
    context: typer.Context,
    *,
    app_id: Annotated[UUID | None, typer.Option("--app", help="Only this app's.")] = None,
    as_json: Json = False,
) -> None:
    """List keys, by their last four characters."""
    asked = str(app_id) if app_id else None
    keys = internal(context, ServiceName.API).get("/keys", app_id=asked)["keys"]
    show_all(keys, as_json=as_json)


@key.command("revoke")
def revoke_key(context: typer.Context, key_id: UUID, *, as_json: Json = False) -> None:
    """Make a key worthless, at once."""
    show(internal(context, ServiceName.API).post(f"/keys/{key_id}/revoke"), as_json=as_json)


def _partners(api: Internal) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = api.get("/partners")["partners"]
    return listed


def _partner_id(api: Internal, id_or_name: str) -> str:
    try:
        return str(UUID(id_or_name))
    except ValueError:
        found = [row for row in _partners(api) if row["name"] == id_or_name]
    if len(found) != 1:
        raise Failed(f"{len(found)} partners are called {id_or_name}; name one by its id")
    return str(found[0]["id"])
