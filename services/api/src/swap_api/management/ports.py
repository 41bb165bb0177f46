"""What managing organizations needs from the outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from swap_api.management.decide.bounds import Bound
from swap_api.model.keys import Allowances, Environment, KeyKind
from swap_api.model.members import Actor, Role

Row = Mapping[str, Any]  # one thing as it is shown, by member


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted."""

    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a list."""

    rows: Sequence[Row]
    total: int  # counted up to a bound
    has_more: bool


@dataclass(frozen=True, slots=True)
class NewKey:
    id: UUID
    app_id: UUID
    kind: KeyKind
    hash: bytes
    last_four: str
    label: str | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What has to be known of a key to change it."""

    id: UUID
    app_id: UUID
    kind: KeyKind
    environment: Environment
    label: str | None
    is_open: bool  # neither revoked nor expired


class Partners(Protocol):
    """Organizations and their apps.

    What is another organization's than the actor's is not found. Every change is written into the
    audit log with it, or neither is.
    """

    async def add_organization(
        self, organization_id: UUID, name: str, actor: Actor, at: datetime
    ) -> Row: ...

    async def rename_organization(
        self, organization_id: UUID, name: str, actor: Actor, at: datetime
    ) -> Row:
        """
        :raises NotFound: when there is no such organization.
        """
        ...

    async def find_organization(self, organization_id: UUID, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such organization.
        """
        ...

    async def list_organizations(self, actor: Actor, window: Window) -> Part: ...

    async def add_app(
        self,
        app_id: UUID,
        organization_id: UUID,
        *,
        name: str,
        environment: Environment,
        allowances: Allowances,
        bound: Bound | None,
        actor: Actor,
        at: datetime,
    ) -> Row:
        """
        :raises NotFound: when there is no such organization.
        :raises ApiRefusal: when it has as many as it may.
        """
        ...

    async def find_app(self, app_id: UUID, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        ...

    async def list_apps(self, organization_id: UUID | None, window: Window) -> Part: ...

    async def change_settings(
        self,
        app_id: UUID,
        *,
        name: str,
        swap_lifetime: timedelta | None,
        actor: Actor,
        at: datetime,
    ) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        ...

    async def set_limits(
        self, app_id: UUID, allowances: Allowances, actor: Actor, at: datetime
    ) -> Row:
        """Set what an app may; its settings stay.

        :raises NotFound: when there is no such app.
        """
        ...

    async def set_fee(self, app_id: UUID, basis_points: int, actor: Actor, at: datetime) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        ...

    async def list_changes(self, organization_id: UUID, window: Window) -> Part:
        """Return what was changed, the newest first."""
        ...


class Keys(Protocol):
    """API keys; as with partners, what is another organization's is not found."""

    async def add(self, key: NewKey, *, bound: Bound | None, actor: Actor, at: datetime) -> Row:
        """
        :raises ApiRefusal: when the app has as many open ones as it may.
        """
        ...

    async def find(self, key_id: UUID, actor: Actor, now: datetime) -> KnownKey:
        """
        :raises NotFound: when there is no such key.
        """
        ...

    async def revoke(self, key_id: UUID, actor: Actor, at: datetime) -> Row: ...

    async def expire(
        self, key_id: UUID, expires_at: datetime, actor: Actor, at: datetime
    ) -> Row: ...

    async def rotate(
        self,
        key_id: UUID,
        key: NewKey,
        *,
        old_until: datetime,
        bound: Bound | None,
        actor: Actor,
        at: datetime,
    ) -> Row:
        """Add the new key and let the old one end, both or neither; return the new one.

        :raises ApiRefusal: when more would be open than may be.
        """
        ...

    async def list_all(self, app_id: UUID | None, window: Window) -> Part: ...


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A token or an invitation, of which only a keyed hash is kept."""

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


class Members(Protocol):
    """Who belongs to an organization, who is invited, and their tokens."""

    async def find(self, member_id: UUID, actor: Actor) -> KnownMember:
        """
        :raises NotFound: when there is no such member.
        """
        ...

    async def list_members(self, organization_id: UUID, window: Window) -> Part: ...

    async def change_role(
        self, member: KnownMember, role: Role | None, actor: Actor, at: datetime
    ) -> Row:
        """Give another role, or none: then the member is gone with all tokens.

        Invitations that the member gave and nobody took end where the role becomes a lower one.

        :raises ApiRefusal: when the organization's last owner would be gone.
        :raises NotFound: when the member was changed meanwhile.
        """
        ...

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
        ...

    async def list_invitations(
        self, organization_id: UUID, window: Window, at: datetime
    ) -> Part: ...

    async def find_invitation(self, invitation_id: UUID, actor: Actor) -> Role:
        """Return what it invites to.

        :raises NotFound: when there is no such invitation, or it was taken.
        """
        ...

    async def revoke_invitation(self, invitation_id: UUID, actor: Actor, at: datetime) -> Row:
        """
        :raises NotFound: when there is no such invitation, or it was taken.
        """
        ...

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
        """Make a member of who was invited, with a first token; None when nobody was, or is."""
        ...

    async def add_token(
        self, secret: NewSecret, *, label: str, bound: Bound | None, actor: Actor, at: datetime
    ) -> Row:
        """
        :raises ApiRefusal: when the member has as many open ones as may be.
        """
        ...

    async def list_tokens(self, member_id: UUID, window: Window, at: datetime) -> Part: ...

    async def revoke_token(self, token_id: UUID, actor: Actor, at: datetime) -> Row:
        """
        :raises NotFound: when the actor has no such token.
        """
        ...


class WebhookEndpoints(Protocol):
    """Webhook endpoints, which the notifier keeps.

    Every method raises Unavailable when it does not answer in time.
    """

    async def list_all(self, app_id: UUID) -> Sequence[Row]: ...

    async def find(self, endpoint_id: UUID) -> Row:
        """
        :raises NotFound: when there is no such endpoint.
        """
        ...

    async def add(self, app_id: UUID, settings: Row, *, bound: Bound | None) -> Row:
        """
        :raises ApiRefusal: when the notifier does not send to such an address, the app has as many
            endpoints as it may, or an operator disabled one with the same URL.
        """
        ...

    async def order(self, endpoint_id: UUID, what: str, details: Row) -> Row:
        """Have something done with an endpoint: `rotate`, `disable`, `enable`, `remove`, `test` or
        `replay`.

        :raises ApiRefusal: when it cannot be done.
        """
        ...

    async def replay(self, endpoint_id: UUID, message_id: str) -> Row:
        """Have one message of an endpoint sent again.

        :raises NotFound: when it has no such message, or is disabled.
        """
        ...

    async def messages(self, endpoint_id: UUID, filters: Row, window: Window) -> Part:
        """
        :raises ApiRefusal: when it cannot be told.
        """
        ...

    async def message(self, endpoint_id: UUID, message_id: str) -> Row:
        """Return one message with its body and its latest attempts.

        :raises NotFound: when the endpoint has no such message.
        """
        ...

    async def figures(self, app_id: UUID, *, since: datetime) -> Sequence[Row]:
        """Return for each endpoint of an app how many of its messages got through since then."""
        ...

    async def messages_of_swap(self, app_id: UUID, swap_id: UUID) -> Sequence[Row]:
        """Return an app's messages about a swap, oldest first; none where it has none."""
        ...


@dataclass(frozen=True, slots=True)
class StatusFigures:
    """The swaps of a period that have a status now."""

    number: int
    value_usd_micros: int  # what was asked for, at the quotes' prices
    median: timedelta | None  # from creation to close; None where none of them closed


@dataclass(frozen=True, slots=True)
class Period:
    """The swaps that were created since a moment."""

    since: datetime
    statuses: Mapping[str, StatusFigures]


@dataclass(frozen=True, slots=True)
class Figures:
    """What an app's swaps amount to."""

    live: Mapping[str, int]  # by status, whenever they were created
    day: Period
    week: Period
    newest_at: datetime | None


class AppFigures(Protocol):
    async def of_app(self, app_id: UUID, *, day: datetime, week: datetime) -> Figures:
        """Return the figures of the swaps created since each moment.

        :raises Unavailable: when Postgres is away.
        """
        ...


class Audit(Protocol):
    """The log of changes that were made elsewhere."""

    async def note(
        self,
        organization_id: UUID,
        action: str,
        subject_id: UUID,
        details: Row,
        *,
        actor: Actor,
        at: datetime,
    ) -> None: ...
