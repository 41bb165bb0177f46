"""Members, invitations and access tokens over HTTP."""

from __future__ import annotations

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import id_of
from swap_api.http.requests import Request
from swap_api.management.http.organizations import actor_of, json_response, listed, read, window_of
from swap_api.management.http.parameters import (
    AcceptBody,
    InspectBody,
    InvitationBody,
    RoleBody,
    TokenBody,
)
from swap_api.management.usecases.manage_members import Issued, ManageMembers


class MemberEndpoints:
    def __init__(self, manage_members: ManageMembers) -> None:
        self._keep = manage_members

    async def members(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        part = await self._keep.list_members(
            organization_id, window_of(request), actor=actor_of(context)
        )
        return listed(request, part)

    async def change_role(self, request: Request, context: Context) -> Response:
        member_id = id_of(request, "memberId")
        body = await read(RoleBody, request)
        return json_response(
            await self._keep.change_role(member_id, body.role, actor=actor_of(context))
        )

    async def remove(self, request: Request, context: Context) -> Response:
        return json_response(
            await self._keep.remove(id_of(request, "memberId"), actor=actor_of(context))
        )

    async def invitations(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        part = await self._keep.list_invitations(
            organization_id, window_of(request), actor=actor_of(context)
        )
        return listed(request, part)

    async def invite(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        body = await read(InvitationBody, request)
        return _issued(
            await self._keep.invite(
                organization_id, name=body.name, role=body.role, actor=actor_of(context)
            )
        )

    async def revoke_invitation(self, request: Request, context: Context) -> Response:
        invitation_id = id_of(request, "invitationId")
        return json_response(
            await self._keep.revoke_invitation(invitation_id, actor=actor_of(context))
        )

    async def inspect(self, request: Request, context: Context) -> Response:
        body = await read(InspectBody, request)
        return json_response(await self._keep.inspect(body.token))

    async def accept(self, request: Request, context: Context) -> Response:
        body = await read(AcceptBody, request)
        return _issued(
            await self._keep.accept(body.token, label=body.label, request_id=context.request_id)
        )

    async def me(self, request: Request, context: Context) -> Response:
        return json_response(await self._keep.about(actor=actor_of(context)))

    async def tokens(self, request: Request, context: Context) -> Response:
        part = await self._keep.list_tokens(window_of(request), actor=actor_of(context))
        return listed(request, part)

    async def add_token(self, request: Request, context: Context) -> Response:
        body = await read(TokenBody, request)
        return _issued(
            await self._keep.issue_token(
                label=body.label, expires_at=body.expires_at, actor=actor_of(context)
            )
        )

    async def revoke_token(self, request: Request, context: Context) -> Response:
        token_id = id_of(request, "tokenId")
        return json_response(await self._keep.revoke_token(token_id, actor=actor_of(context)))


def _issued(issued: Issued) -> Response:
    return json_response({**issued.row, "token": issued.token}, is_secret=True)
