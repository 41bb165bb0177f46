"""Organizations (table `partner`) and their apps on Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import bindparam, func, select
from sqlmodel import col

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.store.auditing import (
    LOCK_ORGANIZATION,
    AuditedStatement,
    AuditedStore,
    Listing,
    audited_statement,
    facts_by_name,
    within,
    within_text,
)
from swap_api.management.store.models import (
    AppFacts,
    AppTable,
    AuditEntryTable,
    ChangedFacts,
    ChangeFacts,
    OrganizationFacts,
    PartnerTable,
)
from swap_api.model.keys import Allowances, Environment
from swap_api.model.members import Actor
from swap_runtime.postgres.models import columns_of, names_of, read_row, statement_of

ORGANIZATION: Final = names_of(OrganizationFacts, PartnerTable)
APP: Final = names_of(AppFacts, AppTable)
OF_ORGANIZATION: Final = within_text("partner_id")

ADD_ORGANIZATION: Final = audited_statement(
    OrganizationFacts,
    "organization.added",
    f"""
INSERT INTO partner (id, name, created_at) VALUES (:id, :name, :at)
RETURNING {ORGANIZATION}, id AS partner_id
""",
)
RENAME_ORGANIZATION: Final = audited_statement(
    OrganizationFacts,
    "organization.renamed",
    f"""
UPDATE partner SET name = :name
WHERE id = :id AND {within_text("id")}
RETURNING {ORGANIZATION}, id AS partner_id
""",
)
_ORGANIZATIONS: Final = select(*columns_of(OrganizationFacts, PartnerTable))
FIND_ORGANIZATION: Final = statement_of(
    _ORGANIZATIONS.where(col(PartnerTable.id) == bindparam("id"), within(PartnerTable.id))
)
ORGANIZATIONS: Final = Listing.of(
    OrganizationFacts, _ORGANIZATIONS.order_by(col(PartnerTable.created_at), col(PartnerTable.id))
)
OWN_ORGANIZATION: Final = Listing.of(
    OrganizationFacts, _ORGANIZATIONS.where(col(PartnerTable.id) == bindparam("id"))
)

ADD_APP: Final = audited_statement(
    AppFacts,
    "app.added",
    f"""
INSERT INTO app (id, partner_id, name, environment, reads_per_minute, prices_per_minute,
                 creates_per_minute, ceiling_factor, pending_swaps_max, limits_lifted,
                 swap_lifetime, created_at)
SELECT :id, partner.id, :name, :environment, CAST(:reads AS int), CAST(:prices AS int),
       CAST(:creates AS int), CAST(:ceiling_factor AS int), CAST(:pending_swaps AS int), :is_lifted,
       CAST(:swap_lifetime AS interval), :at
FROM partner WHERE partner.id = :partner_id
RETURNING {APP}
""",
)
COUNT_APPS: Final = statement_of(
    select(func.count()).where(col(AppTable.partner_id) == bindparam("id"))
)
_APPS: Final = select(*columns_of(AppFacts, AppTable))
FIND_APP: Final = statement_of(
    _APPS.where(col(AppTable.id) == bindparam("id"), within(AppTable.partner_id))
)
APPS: Final = Listing.of(
    AppFacts,
    _APPS.where(col(AppTable.partner_id) == bindparam("partner_id")).order_by(
        col(AppTable.created_at), col(AppTable.id)
    ),
)


def _app_change(action: str, assignments: str) -> AuditedStatement:
    change = f"UPDATE app SET {assignments} WHERE id = :id AND {OF_ORGANIZATION} RETURNING {APP}"
    return audited_statement(AppFacts, action, change)


CHANGE_SETTINGS: Final = _app_change(
    "app.changed",
    "name = coalesce(CAST(:name AS text), name), swap_lifetime = CAST(:swap_lifetime AS interval)",
)
RENAME_APP: Final = _app_change("app.renamed", "name = :name")
SET_LIMITS: Final = _app_change(
    "app.limits_set",
    """
  reads_per_minute = CAST(:reads AS int), prices_per_minute = CAST(:prices AS int),
  creates_per_minute = CAST(:creates AS int), ceiling_factor = CAST(:ceiling_factor AS int),
  pending_swaps_max = CAST(:pending_swaps AS int), limits_lifted = :is_lifted
""",
)
SET_FEE: Final = _app_change("app.fee_set", "fee_basis_points = :fee_basis_points")
SET_FRAME_ORIGINS: Final = _app_change(
    "app.frame_origins_set", "frame_origins = CAST(:frame_origins AS text[])"
)
# Its action is the one that is noted.
NOTE: Final = audited_statement(
    ChangedFacts,
    "",
    "SELECT CAST(:subject_id AS uuid) AS id, CAST(:partner_id AS uuid) AS partner_id",
)
CHANGES: Final = Listing.of(
    ChangeFacts,
    select(*columns_of(ChangeFacts, AuditEntryTable))
    .where(col(AuditEntryTable.partner_id) == bindparam("partner_id"))
    .order_by(col(AuditEntryTable.id).desc()),
    after=col(AuditEntryTable.id) < bindparam("starting_after"),
)


class PostgresPartners(AuditedStore):
    """Organizations and their apps.

    What is found and changed by id is the actor's organization's. `add_app`, `list_apps`,
    `list_changes` and `note` take an organization that the use case has looked up for the actor.
    Every change is written into the audit log with it, or neither is.
    """

    async def add_organization(
        self, organization_id: UUID, name: str, actor: Actor, at: datetime
    ) -> Row:
        named = {"name": name}
        return await self._change(
            ADD_ORGANIZATION, {"id": organization_id, **named}, named, actor, at
        )

    async def rename_organization(
        self, organization_id: UUID, name: str, actor: Actor, at: datetime
    ) -> Row:
        """
        :raises NotFound: when there is no such organization.
        """
        values, named = {"id": organization_id}, {"name": name}
        async with self._changes(actor, at) as changes:
            changes.connection.post(LOCK_ORGANIZATION, values)
            return await changes.change(RENAME_ORGANIZATION, {**values, **named}, named)

    async def find_organization(self, organization_id: UUID, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such organization.
        """
        row = await self._find(FIND_ORGANIZATION, organization_id, actor)
        return facts_by_name(read_row(OrganizationFacts, row))

    async def list_organizations(self, actor: Actor, window: Window) -> Part:
        if actor.organization_id is None:
            return await ORGANIZATIONS.part(self._engine, {}, window)
        return await OWN_ORGANIZATION.part(self._engine, {"id": actor.organization_id}, window)

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
        :raises ApiRefusal: when it has as many apps as its bound allows.
        """
        details = {"name": name, "environment": environment.value}
        values = {
            "id": app_id,
            "partner_id": organization_id,
            "swap_lifetime": allowances.swap_lifetime,
            **details,
            **_limits(allowances),
        }
        counted = {"id": organization_id}
        async with self._changes(actor, at) as changes:
            await changes.enforce_bound(bound, COUNT_APPS, counted, lock=LOCK_ORGANIZATION)
            return await changes.change(ADD_APP, values, details)

    async def find_app(self, app_id: UUID, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        return facts_by_name(read_row(AppFacts, await self._find(FIND_APP, app_id, actor)))

    async def list_apps(self, organization_id: UUID, window: Window) -> Part:
        return await APPS.part(self._engine, {"partner_id": organization_id}, window)

    async def change_settings(
        self,
        app_id: UUID,
        *,
        name: str | None,
        swap_lifetime: timedelta | None,
        actor: Actor,
        at: datetime,
    ) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        seconds = None if swap_lifetime is None else int(swap_lifetime.total_seconds())
        named = {} if name is None else {"name": name}
        values = {"id": app_id, "name": name, "swap_lifetime": swap_lifetime}
        details = {**named, "swap_lifetime_seconds": seconds}
        return await self._change(CHANGE_SETTINGS, values, details, actor, at)

    async def rename_app(self, app_id: UUID, name: str, actor: Actor, at: datetime) -> Row:
        """Set the name of an app; its settings stay.

        :raises NotFound: when there is no such app.
        """
        return await self._set(RENAME_APP, app_id, {"name": name}, actor, at)

    async def set_limits(
        self, app_id: UUID, allowances: Allowances, actor: Actor, at: datetime
    ) -> Row:
        """Set what an app may; its settings stay.

        :raises NotFound: when there is no such app.
        """
        return await self._set(SET_LIMITS, app_id, _limits(allowances), actor, at)

    async def set_fee(self, app_id: UUID, basis_points: int, actor: Actor, at: datetime) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        return await self._set(SET_FEE, app_id, {"fee_basis_points": basis_points}, actor, at)

    async def set_frame_origins(
        self, app_id: UUID, origins: Sequence[str], actor: Actor, at: datetime
    ) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        values = {"frame_origins": list(origins)}
        return await self._set(SET_FRAME_ORIGINS, app_id, values, actor, at)

    async def list_changes(self, organization_id: UUID, window: Window) -> Part:
        """Return what was changed, the newest first."""
        return await CHANGES.part(self._engine, {"partner_id": organization_id}, window)

    async def note(
        self,
        organization_id: UUID,
        action: str,
        subject_id: UUID,
        details: Row,
        *,
        actor: Actor,
        at: datetime,
    ) -> None:
        values = {"subject_id": subject_id, "partner_id": organization_id}
        # What another service did is logged, even if the actor has left since.
        async with self._changes(actor, at) as changes:
            await changes.record(NOTE._replace(action=action), values, details)

    async def _set(
        self,
        change: AuditedStatement,
        app_id: UUID,
        values: Mapping[str, Any],
        actor: Actor,
        at: datetime,
    ) -> Row:
        """Set values of an app, which are logged as they are."""
        return await self._change(change, {"id": app_id, **values}, values, actor, at)


def _limits(allowances: Allowances) -> dict[str, Any]:
    return {
        "reads": allowances.reads,
        "prices": allowances.prices,
        "creates": allowances.creates,
        "ceiling_factor": allowances.ceiling_factor,
        "pending_swaps": allowances.pending_swaps,
        "is_lifted": allowances.is_lifted,
    }
