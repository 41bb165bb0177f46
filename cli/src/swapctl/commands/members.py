"""Management of an organization: members, invitations, access tokens."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from swapctl.commands.partners import OrganizationName, moment, partner_id
from swapctl.context import internal, management
from swapctl.endpoints import ServiceName
from swapctl.operator_option import reason_option
from swapctl.output import Json, show, show_all

member = typer.Typer(no_args_is_help=True, help="Who manages an organization's apps and keys.")
MEMBER_COLUMNS = ("id", "name", "role", "created_at")
INVITATION_COLUMNS = ("id", "name", "role", "expires_at")
TOKEN_COLUMNS = ("id", "label", "last_four", "expires_at")
token = typer.Typer(no_args_is_help=True, help="A member's own access tokens.")


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    DEVELOPER = "developer"
    VIEWER = "viewer"


@member.command("invite")
def invite(
    context: typer.Context,
    name: str,
    *,
    role: Annotated[Role, typer.Option()],
    of: OrganizationName = None,
    as_json: Json = False,
) -> None:
    """Invite a member and show the invitation token. It is shown once."""
    manage = management(context)
    path = f"/organizations/{partner_id(manage, of)}/invitations"
    show(manage.post(path, {"name": name, "role": role.value}), as_json=as_json)


@member.command("remove-second-factor")
def remove_second_factor(
    context: typer.Context,
    email: str,
    *,
    reason: Annotated[str, reason_option("How is the member known", "Kept with the order.")],
    as_json: Json = False,
) -> None:
    """Remove the second factor of a member who lost it; a second operator approves."""
    body = {"email": email, "reason": reason}
    port = internal(context, ServiceName.DASHBOARD)
    show(port.post("/second-factors/remove", body), as_json=as_json)


@member.command("invitations")
def list_invitations(
    context: typer.Context, *, of: OrganizationName = None, as_json: Json = False
) -> None:
    """List open invitations."""
    manage = management(context)
    rows = manage.list_all(f"/organizations/{partner_id(manage, of)}/invitations")
    show_all(rows, as_json=as_json, columns=INVITATION_COLUMNS)


@member.command("uninvite")
def revoke_invitation(
    context: typer.Context, invitation_id: UUID, *, as_json: Json = False
) -> None:
    """Revoke an invitation."""
    show(management(context).post(f"/invitations/{invitation_id}/revoke"), as_json=as_json)


@member.command("join")
def join(
    context: typer.Context,
    invitation: str,
    *,
    label: Annotated[str, typer.Option(help="What the access token is for.")] = "swapctl",
    as_json: Json = False,
) -> None:
    """Accept an invitation and show the access token for SWAPCTL_ACCESS_TOKEN. It is shown once."""
    manage = management(context, as_member=True)
    body = {"token": invitation, "label": label}
    show(manage.post("/invitations/accept", body), as_json=as_json)


@member.command("list")
def list_members(
    context: typer.Context, *, of: OrganizationName = None, as_json: Json = False
) -> None:
    """List the members of an organization."""
    manage = management(context)
    rows = manage.list_all(f"/organizations/{partner_id(manage, of)}/members")
    show_all(rows, as_json=as_json, columns=MEMBER_COLUMNS)


@member.command("role")
def change_role(
    context: typer.Context, member_id: UUID, role: Role, *, as_json: Json = False
) -> None:
    """Change the role of a member."""
    path = f"/members/{member_id}/role"
    show(management(context).post(path, {"role": role.value}), as_json=as_json)


@member.command("remove")
def remove(context: typer.Context, member_id: UUID, *, as_json: Json = False) -> None:
    """Remove a member with all access tokens."""
    show(management(context).post(f"/members/{member_id}/remove"), as_json=as_json)


@member.command("me")
def show_me(context: typer.Context, *, as_json: Json = False) -> None:
    """Show the member of the access token."""
    show(management(context, as_member=True).get("/me"), as_json=as_json)


@token.command("create")
def create_token(
    context: typer.Context,
    label: str,
    *,
    expires: Annotated[datetime | None, typer.Option(help="In UTC.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Create an access token. It is shown once."""
    body = {"label": label, "expires_at": None if expires is None else moment(expires)}
    show(management(context, as_member=True).post("/me/tokens", body), as_json=as_json)


@token.command("list")
def list_tokens(context: typer.Context, *, as_json: Json = False) -> None:
    """List your access tokens."""
    tokens = management(context, as_member=True).list_all("/me/tokens")
    show_all(tokens, as_json=as_json, columns=TOKEN_COLUMNS)


@token.command("revoke")
def revoke_token(context: typer.Context, token_id: UUID, *, as_json: Json = False) -> None:
    """Revoke an access token immediately."""
    manage = management(context, as_member=True)
    show(manage.post(f"/me/tokens/{token_id}/revoke"), as_json=as_json)
