"""Members on Postgres: lookup by token, invitations, removal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import bindparam, func, select
from sqlmodel import col

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.store.auditing import (
    LOCK_ORGANIZATION,
    AuditedStore,
    AuditedTransaction,
    Listing,
    audited_statement,
    within,
    within_text,
)
from swap_api.management.store.models import (
    AccessTokenTable,
    ChangedFacts,
    InvitationFacts,
    InvitationTable,
    MemberFacts,
    MemberTable,
    TokenFacts,
)
from swap_api.model.members import Actor, Role
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode
from swap_runtime.postgres.database import read_alone, transaction
from swap_runtime.postgres.models import columns_of, names_of, statement_of
from swap_runtime.postgres.sql import sql

MEMBER: Final = names_of(MemberFacts, MemberTable)
INVITATION: Final = names_of(InvitationFacts, InvitationTable)
TOKEN: Final = names_of(TokenFacts, AccessTokenTable)
OF_ORGANIZATION: Final = within_text("partner_id")

_MEMBERS: Final = select(*columns_of(MemberFacts, MemberTable)).where(
    col(MemberTable.removed_at).is_(None)
)
FIND_MEMBER: Final = statement_of(
    _MEMBERS.where(col(MemberTable.id) == bindparam("id"), within(MemberTable.partner_id))
)
MEMBERS: Final = Listing.of(
    MemberFacts,
    _MEMBERS.where(col(MemberTable.partner_id) == bindparam("partner_id")).order_by(
        col(MemberTable.created_at), col(MemberTable.id)
    ),
)
OTHER_OWNERS: Final = sql("""
SELECT count(*) FROM member
WHERE partner_id = :partner_id AND removed_at IS NULL AND role = 'owner' AND id <> :id
""")
CHANGE_ROLE: Final = audited_statement(
    MemberFacts,
    "member.role_changed",
    f"""
UPDATE member SET role = :role WHERE id = :id AND removed_at IS NULL AND role = :before
RETURNING {MEMBER}
""",
)
REMOVE_MEMBER: Final = audited_statement(
    MemberFacts,
    "member.removed",
    f"""
UPDATE member SET removed_at = :at WHERE id = :id AND removed_at IS NULL AND role = :before
RETURNING {MEMBER}
""",
)
REVOKE_INVITATIONS_BY: Final = audited_statement(
    ChangedFacts,
    "invitation.revoked",
    """
UPDATE invitation SET revoked_at = :at
WHERE invited_by = :id AND accepted_at IS NULL AND revoked_at IS NULL
RETURNING id, partner_id
""",
)
COUNT_PEOPLE: Final = sql("""
SELECT (SELECT count(*) FROM member WHERE partner_id = :id AND removed_at IS NULL)
     + (SELECT count(*) FROM invitation
        WHERE partner_id = :id AND accepted_at IS NULL AND revoked_at IS NULL
          AND expires_at > :now)
""")
INVITE: Final = audited_statement(
    InvitationFacts,
    "invitation.sent",
    f"""
INSERT INTO invitation (id, partner_id, name, role, hash, invited_by, created_at, expires_at)
SELECT :id, partner.id, :name, :role, :hash, CAST(:actor_id AS uuid), :at, :expires_at
FROM partner WHERE partner.id = :partner_id RETURNING {INVITATION}
""",
)
_INVITATIONS: Final = select(*columns_of(InvitationFacts, InvitationTable)).where(
    col(InvitationTable.accepted_at).is_(None), col(InvitationTable.revoked_at).is_(None)
)
INVITATIONS: Final = Listing.of(
    InvitationFacts,
    _INVITATIONS.where(
        col(InvitationTable.partner_id) == bindparam("partner_id"),
        col(InvitationTable.expires_at) > bindparam("now"),
    ).order_by(col(InvitationTable.created_at), col(InvitationTable.id)),
)
FIND_INVITATION: Final = statement_of(
    _INVITATIONS.where(
        col(InvitationTable.id) == bindparam("id"), within(InvitationTable.partner_id)
    )
)
REVOKE_INVITATION: Final = audited_statement(
    InvitationFacts,
    "invitation.revoked",
    f"""
UPDATE invitation SET revoked_at = :at
WHERE id = :id AND accepted_at IS NULL AND revoked_at IS NULL AND {OF_ORGANIZATION}
RETURNING {INVITATION}
""",
)
INSPECT_INVITATION: Final = sql("""
SELECT invitation.name, invitation.role, invitation.expires_at, partner.id AS organization_id,
       partner.name AS organization_name, partner.created_at AS organization_created_at,
       member.name AS invited_by
FROM invitation JOIN partner ON partner.id = invitation.partner_id
LEFT JOIN member ON member.id = invitation.invited_by
WHERE invitation.hash = :hash AND invitation.accepted_at IS NULL
  AND invitation.revoked_at IS NULL AND invitation.expires_at > :now
""")
TAKE_INVITATION: Final = sql("""
UPDATE invitation SET accepted_at = :now
WHERE hash = :hash AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > :now
RETURNING partner_id, name, role
""")
ADD_MEMBER: Final = audited_statement(
    MemberFacts,
    "member.joined",
    f"""
INSERT INTO member (id, partner_id, name, role, created_at)
VALUES (:id, :partner_id, :name, :role, :at) RETURNING {MEMBER}
""",
)
ADD_TOKEN: Final = audited_statement(
    TokenFacts,
    "token.added",
    f"""
INSERT INTO access_token (id, member_id, label, hash, last_four, created_at, expires_at)
SELECT :id, member.id, :label, :hash, :last_four, :at, :expires_at
FROM member WHERE member.id = :member_id AND member.removed_at IS NULL
RETURNING {TOKEN}, (SELECT partner_id FROM member WHERE member.id = member_id)
""",
)
_OPEN_TOKENS: Final = (
    col(AccessTokenTable.member_id) == bindparam("member_id"),
    col(AccessTokenTable.revoked_at).is_(None),
    col(AccessTokenTable.expires_at) > bindparam("now"),
)
COUNT_TOKENS: Final = statement_of(select(func.count()).where(*_OPEN_TOKENS))
TOKENS: Final = Listing.of(
    TokenFacts,
    select(*columns_of(TokenFacts, AccessTokenTable))
    .where(*_OPEN_TOKENS)
    .order_by(col(AccessTokenTable.created_at), col(AccessTokenTable.id)),
)
REVOKE_TOKEN: Final = audited_statement(
    TokenFacts,
    "token.revoked",
    f"""
UPDATE access_token SET revoked_at = :at FROM member
WHERE access_token.id = :id AND access_token.member_id = :member_id
  AND access_token.revoked_at IS NULL AND member.id = access_token.member_id
RETURNING {TOKEN}, member.partner_id
""",
)


class PostgresMembers(AuditedStore):
    """Who belongs to an organization, who is invited, and their tokens."""

    async def find(self, member_id: UUID, actor: Actor) -> KnownMember:
        """
        :raises NotFound: when there is no such member.
        """
        row = await self._find(FIND_MEMBER, member_id, actor)
        return KnownMember(row.id, row.partner_id, row.name, Role(row.role))

    async def list_members(self, organization_id: UUID, window: Window) -> Part:
        return await MEMBERS.part(self._engine, {"partner_id": organization_id}, window)

    async def change_role(
        self, member: KnownMember, role: Role | None, actor: Actor, at: datetime
    ) -> Row:
        """Give another role, or none: then the member is gone with all tokens.

        Open invitations by the member end where the role becomes a lower one.

        :raises ApiRefusal: when the organization's last owner would be gone.
        :raises NotFound: when the member was changed meanwhile.
        """
        async with self._changes(actor, at) as changes:
            changes.connection.post(LOCK_ORGANIZATION, {"id": member.organization_id})
            await changes.require_current_role()
            if member.role is Role.OWNER and role is not Role.OWNER:
                await _keep_an_owner(changes, member)
            changed = await _to_role(changes, member, role)
            if role is None or role.rank < member.role.rank:
                by = {"id": member.id}
                await changes.record_all(REVOKE_INVITATIONS_BY, by, {"invited_by": member.id})
        return changed

    async def invite(
        self,
        secret: NewSecret,
        organization_id: UUID,
        *,
        name: str,
        role: Role,
        bound: Bound | None,
        actor: Actor,
        at: datetime,
    ) -> Row:
        """
        :raises ApiRefusal: when members and those invited are as many as may be.
        """
        details = {"name": name, "role": role.value}
        values = {
            "id": secret.id,
            "hash": secret.hash,
            "expires_at": secret.expires_at,
            "partner_id": organization_id,
            **details,
        }
        counted = {"id": organization_id, "now": at}
        async with self._changes(actor, at) as changes:
            await changes.enforce_bound(bound, COUNT_PEOPLE, counted, lock=LOCK_ORGANIZATION)
            return await changes.change(INVITE, values, details)

    async def list_invitations(self, organization_id: UUID, window: Window, at: datetime) -> Part:
        values = {"partner_id": organization_id, "now": at}
        return await INVITATIONS.part(self._engine, values, window)

    async def find_invitation(self, invitation_id: UUID, actor: Actor) -> Role:
        """Return what it invites to.

        :raises NotFound: when there is no such invitation, or it was taken.
        """
        return Role((await self._find(FIND_INVITATION, invitation_id, actor)).role)

    async def revoke_invitation(self, invitation_id: UUID, actor: Actor, at: datetime) -> Row:
        """
        :raises NotFound: when there is no such invitation, or it was taken.
        """
        return await self._change(REVOKE_INVITATION, {"id": invitation_id}, {}, actor, at)

    async def inspect(self, invitation_hash: bytes, at: datetime) -> Row | None:
        """Return what an invitation is for; None without a valid one."""
        values = {"hash": invitation_hash, "now": at}
        row = (await read_alone(self._engine, INSPECT_INVITATION, values)).one_or_none()
        if row is None:
            return None
        return {
            "organization": {
                "id": row.organization_id,
                "name": row.organization_name,
                "created_at": row.organization_created_at,
            },
            "name": row.name,
            "role": row.role,
            "invited_by": row.invited_by,
            "expires_at": row.expires_at,
        }

    async def accept(
        self,
        invitation_hash: bytes,
        member_id: UUID,
        token: NewSecret,
        *,
        label: str,
        request_id: str,
        at: datetime,
    ) -> Row | None:
        """Create the invited member with a first token; None without a valid invitation."""
        async with transaction(self._engine) as connection:
            result = await connection.execute(TAKE_INVITATION, {"hash": invitation_hash, "now": at})
            row = result.one_or_none()
            if row is None:
                return None
            details = {"name": row.name, "role": row.role}
            actor = Actor(row.name, request_id, member_id, row.partner_id, Role(row.role))
            changes = AuditedTransaction(connection, actor, at)
            member = {"id": member_id, "partner_id": row.partner_id, **details}
            made = await changes.record(ADD_MEMBER, member, details)
            values = _token_values(token, label, member_id)
            added = await changes.change(ADD_TOKEN, values, {"label": label})
        return {"member": made, **added}

    async def add_token(
        self, secret: NewSecret, *, label: str, bound: Bound | None, actor: Actor, at: datetime
    ) -> Row:
        """
        :raises ApiRefusal: when the member has as many open ones as may be.
        """
        values = _token_values(secret, label, actor.member_id)
        counted = {"id": actor.organization_id, "member_id": actor.member_id, "now": at}
        async with self._changes(actor, at) as changes:
            await changes.enforce_bound(bound, COUNT_TOKENS, counted, lock=LOCK_ORGANIZATION)
            return await changes.change(ADD_TOKEN, values, {"label": label})

    async def list_tokens(self, member_id: UUID, window: Window, at: datetime) -> Part:
        return await TOKENS.part(self._engine, {"member_id": member_id, "now": at}, window)

    async def revoke_token(self, token_id: UUID, actor: Actor, at: datetime) -> Row:
        """
        :raises NotFound: when the actor has no such token.
        """
        values = {"id": token_id, "member_id": actor.member_id}
        return await self._change(REVOKE_TOKEN, values, {}, actor, at)


async def _to_role(changes: AuditedTransaction, member: KnownMember, role: Role | None) -> Row:
    values = {"id": member.id, "before": member.role.value}
    if role is None:
        return await changes.record(REMOVE_MEMBER, values, {"name": member.name})
    details = {"from": member.role, "to": role}
    return await changes.record(CHANGE_ROLE, {**values, "role": role.value}, details)


async def _keep_an_owner(changes: AuditedTransaction, member: KnownMember) -> None:
    values = {"partner_id": member.organization_id, "id": member.id}
    if not await changes.connection.scalar(OTHER_OWNERS, values):
        raise ApiRefusal(
            ErrorCode.LAST_OWNER,
            f"{member.name} is the last owner; make another member an owner first",
        )


def _token_values(secret: NewSecret, label: str, member_id: UUID | None) -> dict[str, Any]:
    return {**asdict(secret), "label": label, "member_id": member_id}


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A token or an invitation, stored only as a keyed hash."""

    id: UUID
    hash: bytes
    last_four: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class KnownMember:
    id: UUID
    organization_id: UUID
    name: str
    role: Role
