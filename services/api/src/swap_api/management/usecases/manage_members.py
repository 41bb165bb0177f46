from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from swap_api import observe
from swap_api.management.decide.bounds import Bounds, CountedKind
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.store.members import NewSecret, PostgresMembers
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.keys import LAST_SHOWN, SECRET_BYTES
from swap_api.model.members import (
    INVITATION_PREFIX,
    INVITATION_TERM,
    TOKEN_PREFIX,
    TOKEN_TERM,
    TOKEN_TERM_MAX,
    Actor,
    Role,
    secret_text,
)
from swap_api.model.refusals import ApiRefusal, Invalid, NotFound
from swap_api.read_model.swaps import NewId
from swap_contracts.public.errors import ErrorCode
from swap_runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token or an invitation, for the only time that it is known."""

    token: str
    row: Row


class ManageMembers:
    """Invite people, let them in, give them roles, and let them go."""

    def __init__(
        self,
        members: PostgresMembers,
        partners: PostgresPartners,
        bounds: Bounds,
        *,
        clock: Clock,
        new_id: NewId,
        new_secret: Callable[[int], bytes],
        hash_token: Callable[[str], bytes],
        rehash_token: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._members = members
        self._partners = partners
        self._bounds = bounds
        self._clock = clock
        self._new_id = new_id
        self._new_secret = new_secret
        self._hash_token = hash_token
        self._rehash_token = rehash_token

    async def list_members(self, organization_id: UUID, window: Window, *, actor: Actor) -> Part:
        """
        :raises NotFound: when there is no such organization.
        """
        await self._partners.find_organization(organization_id, actor)
        return await self._members.list_members(organization_id, window)

    async def invite(
        self, organization_id: UUID, *, name: str, role: Role, actor: Actor
    ) -> IssuedToken:
        """
        :raises ApiRefusal: when there is no such organization, the role is too low, or members and
            those invited are as many as may be.
        """
        await self._partners.find_organization(organization_id, actor)
        actor.require_over(role)
        now = self._clock()
        text, secret = self._secret(INVITATION_PREFIX, now + INVITATION_TERM)
        row = await self._members.invite(
            secret,
            organization_id,
            name=name,
            role=role,
            bound=self._bounds.of(CountedKind.MEMBERS, actor),
            actor=actor,
            at=now,
        )
        return IssuedToken(text, row)

    async def list_invitations(
        self, organization_id: UUID, window: Window, *, actor: Actor
    ) -> Part:
        """
        :raises ApiRefusal: when there is no such organization, or the role is too low.
        """
        await self._partners.find_organization(organization_id, actor)
        actor.require(Role.ADMIN)
        return await self._members.list_invitations(organization_id, window, self._clock())

    async def revoke_invitation(self, invitation_id: UUID, *, actor: Actor) -> Row:
        """
        :raises ApiRefusal: when there is no such invitation, or the role is too low.
        """
        actor.require_over(await self._members.find_invitation(invitation_id, actor))
        return await self._members.revoke_invitation(invitation_id, actor, self._clock())

    async def inspect(self, invitation: str) -> Row:
        """Return what an invitation is for, and leave it open.

        :raises ApiRefusal: when it is unknown, taken, revoked or expired, all in the same words.
        """
        await self._rehash_token(invitation)
        row = await self._members.inspect(self._hash_token(invitation), self._clock())
        if row is None:
            raise _invitation_refusal()
        return row

    async def accept(self, invitation: str, *, label: str, request_id: str) -> IssuedToken:
        """Take an invitation, and return the new member's first token.

        :raises ApiRefusal: when it is unknown, taken, revoked or expired, all in the same words.
        """
        now = self._clock()
        text, secret = self._secret(TOKEN_PREFIX, now + TOKEN_TERM)
        await self._rehash_token(invitation)
        row = await self._members.accept(
            self._hash_token(invitation),
            self._new_id(),
            secret,
            label=label,
            request_id=request_id,
            at=now,
        )
        if row is None:
            raise _invitation_refusal()
        observe.member_joined(row["member"]["id"], row["member"]["organization_id"])
        return IssuedToken(text, row)

    async def change_role(self, member_id: UUID, role: Role, *, actor: Actor) -> Row:
        """
        :raises ApiRefusal: when there is no such member, the actor's role is too low, or no
            owner would be left.
        """
        member = await self._members.find(member_id, actor)
        actor.require_over(member.role, role)
        return await self._members.change_role(member, role, actor, self._clock())

    async def remove(self, member_id: UUID, *, actor: Actor) -> Row:
        """Remove a member with all tokens. Every member may leave.

        :raises ApiRefusal: when there is no such member, the actor's role is too low, or no
            owner would be left.
        """
        member = await self._members.find(member_id, actor)
        if member.id != actor.member_id:
            actor.require_over(member.role)
        return await self._members.change_role(member, None, actor, self._clock())

    async def about(self, *, actor: Actor) -> Row:
        """Return the actor's own data."""
        organization = await self._partners.find_organization(_organization_of(actor), actor)
        return {
            "id": actor.member_id,
            "name": actor.name,
            "role": actor.role,
            "organization": organization,
        }

    async def list_tokens(self, window: Window, *, actor: Actor) -> Part:
        return await self._members.list_tokens(_member_of(actor), window, self._clock())

    async def issue_token(
        self, *, label: str, expires_at: datetime | None, actor: Actor
    ) -> IssuedToken:
        """
        :raises ApiRefusal: when it would end in the past, or too far in the future, or as many are
            open as may be.
        """
        now = self._clock()
        until = now + TOKEN_TERM if expires_at is None else expires_at
        if not now < until <= now + TOKEN_TERM_MAX:
            raise Invalid.field("expires_at", f"must lie in the next {TOKEN_TERM_MAX.days} days")
        text, secret = self._secret(TOKEN_PREFIX, until)
        bound = self._bounds.of(CountedKind.TOKENS, actor)
        row = await self._members.add_token(secret, label=label, bound=bound, actor=actor, at=now)
        return IssuedToken(text, row)

    async def revoke_token(self, token_id: UUID, *, actor: Actor) -> Row:
        """
        :raises NotFound: when the actor has no such token.
        """
        return await self._members.revoke_token(token_id, actor, self._clock())

    def _secret(self, prefix: str, expires_at: datetime) -> tuple[str, NewSecret]:
        text = secret_text(prefix, self._new_secret(SECRET_BYTES))
        hashed = self._hash_token(text)
        return text, NewSecret(self._new_id(), hashed, text[-LAST_SHOWN:], expires_at)


def _invitation_refusal() -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.INVITATION_INVALID,
        "The invitation is unknown, taken, revoked or expired; ask for another one",
    )


def _member_of(actor: Actor) -> UUID:
    if actor.member_id is None:
        raise NotFound
    return actor.member_id


def _organization_of(actor: Actor) -> UUID:
    if actor.organization_id is None:
        raise NotFound
    return actor.organization_id
