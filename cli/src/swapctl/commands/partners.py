"""Organizations, their apps and API keys."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer

from swapctl.admin_client import Management, RequestFailed
from swapctl.context import management
from swapctl.output import Json, show, show_all

partner = typer.Typer(no_args_is_help=True, help="The organizations that integrate the service.")
app = typer.Typer(no_args_is_help=True, help="The apps of an organization.")
key = typer.Typer(no_args_is_help=True, help="API keys. A key is shown once, when it is created.")


class Environment(StrEnum):
    LIVE = "live"
    TEST = "test"


class KeyKind(StrEnum):
    SECRET = "secret"
    PUBLISHABLE = "publishable"


AppId = Annotated[UUID, typer.Option("--app", help="The app's id.")]
OrganizationName = Annotated[
    str | None,
    typer.Option(
        "--organization",
        "--partner",
        help="The organization's id or name; by default the member's own.",
    ),
]
Lifetime = Annotated[
    int | None,
    typer.Option(min=1, help="Deposit window of its swaps in seconds; test apps only."),
]
PerMinute = Annotated[
    int | None, typer.Option(min=1, help="Per minute; a burst may have twice as many.")
]
APP_COLUMNS = ("id", "organization_id", "name", "environment")
KEY_COLUMNS = (
    "id",
    "kind",
    "label",
    "last_four",
    "expires_at",
    "revoked_at",
    "allowed_origins",
)
FEE_SUMS = ("earned", "waiting", "pending", "paid_out")
CHANGE_COLUMNS = ("at", "actor", "action", "subject_id", "details")


@partner.command("create")
def create_partner(context: typer.Context, name: str, *, as_json: Json = False) -> None:
    """Create an organization. Operators only."""
    show(management(context).post("/organizations", {"name": name}), as_json=as_json)


@partner.command("list")
def list_partners(context: typer.Context, *, as_json: Json = False) -> None:
    """List the organizations that the token can read."""
    show_all(_partners(management(context)), as_json=as_json)


@partner.command("rename")
def rename_partner(
    context: typer.Context, name: str, *, of: OrganizationName = None, as_json: Json = False
) -> None:
    """Rename an organization."""
    manage = management(context)
    path = f"/organizations/{partner_id(manage, of)}"
    show(manage.post(path, {"name": name}), as_json=as_json)


@partner.command("changes")
def list_changes(
    context: typer.Context, *, of: OrganizationName = None, as_json: Json = False
) -> None:
    """List changes with author and time, newest first."""
    manage = management(context)
    rows = manage.list_all(f"/organizations/{partner_id(manage, of)}/changes")
    show_all(rows, as_json=as_json, columns=CHANGE_COLUMNS)


@app.command("create")
def create_app(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Option(help="The name of the app.")],
    of: OrganizationName = None,
    environment: Annotated[Environment, typer.Option()] = Environment.TEST,
    limits_lifted: Annotated[
        bool, typer.Option("--limits-lifted", help="No rate limits and no limit on unpaid swaps.")
    ] = False,
    swap_lifetime: Lifetime = None,
    as_json: Json = False,
) -> None:
    """Create an app of an organization."""
    manage = management(context)
    body = {
        "name": name,
        "environment": environment.value,
        "swap_lifetime_seconds": swap_lifetime,
    }
    made = manage.post(f"/organizations/{partner_id(manage, of)}/apps", body)
    if limits_lifted:
        made = manage.post(f"/apps/{made['id']}/limits", {"limits_lifted": True})
    show(made, as_json=as_json)


@app.command("set")
def set_app(
    context: typer.Context,
    app_id: UUID,
    *,
    name: Annotated[str | None, typer.Option(help="The new name.")] = None,
    swap_lifetime: Lifetime = None,
    as_json: Json = False,
) -> None:
    """Set an app's name and its swaps' lifetime; the default lifetime applies without one."""
    named = {} if name is None else {"name": name}
    body = {**named, "swap_lifetime_seconds": swap_lifetime}
    show(management(context).post(f"/apps/{app_id}", body), as_json=as_json)


@app.command("limits")
def limit_app(
    context: typer.Context,
    app_id: UUID,
    *,
    reads: PerMinute = None,
    prices: PerMinute = None,
    creates: PerMinute = None,
    ceiling: Annotated[
        int | None, typer.Option(min=1, help="Rate of the whole app, as a multiple of a client's.")
    ] = None,
    pending: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of unpaid swaps.")
    ] = None,
    lifted: Annotated[bool, typer.Option("--lifted", help="No limits at all.")] = False,
    as_json: Json = False,
) -> None:
    """Set all limits of an app; omitted ones are the deployment's. Operators only."""
    body = {
        "reads_per_minute": reads,
        "prices_per_minute": prices,
        "creates_per_minute": creates,
        "ceiling_factor": ceiling,
        "pending_swaps_max": pending,
        "limits_lifted": lifted,
    }
    show(management(context).post(f"/apps/{app_id}/limits", body), as_json=as_json)


@app.command("fee")
def set_fee(
    context: typer.Context,
    app_id: UUID,
    basis_points: Annotated[int, typer.Argument(min=0, max=1000, help="25 is a quarter percent.")],
    *,
    as_json: Json = False,
) -> None:
    """Set the fee that an app charges on its swaps. Operators only."""
    body = {"fee_basis_points": basis_points}
    show(management(context).post(f"/apps/{app_id}/fee", body), as_json=as_json)


@app.command("fees")
def list_fees(context: typer.Context, app_id: UUID, *, as_json: Json = False) -> None:
    """Show what an app has earned by its fee, in base units: waiting, pending and paid out."""
    rows = management(context).get(f"/apps/{app_id}/fees")
    amounts = [{name: row[name]["amount_in_base_units"] for name in FEE_SUMS} for row in rows]
    shown = [{**row, **sums} for row, sums in zip(rows, amounts, strict=True)]
    show_all(rows if as_json else shown, as_json=as_json)


@app.command("frames")
def set_frame_origins(
    context: typer.Context,
    app_id: UUID,
    origins: Annotated[
        list[str] | None,
        typer.Argument(help="Such as https://shop.example; without one, no site may."),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Set the sites that may embed an app's pay pages in a frame."""
    body = {"origins": origins or []}
    show(management(context).post(f"/apps/{app_id}/frame_origins", body), as_json=as_json)


@app.command("list")
def list_apps(context: typer.Context, *, as_json: Json = False) -> None:
    """List the apps of every organization that the token can read."""
    show_all(_apps(management(context)), as_json=as_json, columns=APP_COLUMNS)


@key.command("create")
def create_key(
    context: typer.Context,
    *,
    app_id: AppId,
    kind: Annotated[KeyKind, typer.Option()] = KeyKind.SECRET,
    label: Annotated[str | None, typer.Option(help="Its purpose.")] = None,
    expires: Annotated[datetime | None, typer.Option(help="In UTC.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Create an API key. It is shown once."""
    body = {
        "kind": kind.value,
        "label": label,
        "expires_at": None if expires is None else moment(expires),
    }
    show(management(context).post(f"/apps/{app_id}/keys", body), as_json=as_json)


@key.command("list")
def list_keys(
    context: typer.Context,
    *,
    app_id: Annotated[UUID | None, typer.Option("--app", help="Only this app.")] = None,
    as_json: Json = False,
) -> None:
    """List keys with their last four characters."""
    manage = management(context)
    apps = [str(app_id)] if app_id else [row["id"] for row in _apps(manage)]
    keys = [row for one in apps for row in manage.list_all(f"/apps/{one}/keys")]
    show_all(keys, as_json=as_json, columns=KEY_COLUMNS)


@key.command("rotate")
def rotate_key(
    context: typer.Context,
    key_id: UUID,
    *,
    overlap: Annotated[
        int | None,
        typer.Option(min=0, help="Seconds for which the old key stays valid; default one day."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Replace a key and show the new one; the old key stays valid during the overlap."""
    body = {"overlap_seconds": overlap}
    show(management(context).post(f"/keys/{key_id}/rotate", body), as_json=as_json)


@key.command("expire")
def expire_key(
    context: typer.Context,
    key_id: UUID,
    *,
    at: Annotated[datetime, typer.Option(help="In UTC: 2026-01-31 or 2026-01-31T12:00:00.")],
    as_json: Json = False,
) -> None:
    """Set the time at which a key expires."""
    body = {"expires_at": moment(at)}
    show(management(context).post(f"/keys/{key_id}/expire", body), as_json=as_json)


@key.command("origins")
def set_allowed_origins(
    context: typer.Context,
    key_id: UUID,
    origins: Annotated[
        list[str] | None, typer.Argument(help="Such as https://shop.example; without one, any may.")
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Set the origins of the web pages that may use a publishable key."""
    body = {"origins": origins or []}
    show(management(context).post(f"/keys/{key_id}/allowed_origins", body), as_json=as_json)


@key.command("revoke")
def revoke_key(context: typer.Context, key_id: UUID, *, as_json: Json = False) -> None:
    """Revoke a key immediately."""
    show(management(context).post(f"/keys/{key_id}/revoke"), as_json=as_json)


def partner_id(manage: Management, id_or_name: str | None) -> str:
    """Return an organization's id, found by id or name, or because it is the only one.

    :raises RequestFailed: when none or several match.
    """
    try:
        return str(UUID(id_or_name))
    except (TypeError, ValueError):
        rows = _partners(manage)
        found = [row for row in rows if id_or_name in (None, row["name"])]
    if len(found) != 1:
        result = f"are called {id_or_name}" if id_or_name else "are there"
        raise RequestFailed(f"{len(found)} organizations {result}; use the id of one")
    return str(found[0]["id"])


def moment(when: datetime) -> str:
    """Return a time with its zone; UTC is the default."""
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).isoformat()


def _partners(manage: Management) -> list[dict[str, Any]]:
    return manage.list_all("/organizations")


def _apps(manage: Management) -> list[dict[str, Any]]:
    return [
        app
        for organization in _partners(manage)
        for app in manage.list_all(f"/organizations/{organization['id']}/apps")
    ]
