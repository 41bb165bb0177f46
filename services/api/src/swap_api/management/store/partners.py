"""Organizations (table `partner`) and their apps on Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Unpack
from uuid import UUID

from sqlalchemy import bindparam, func, select
from sqlmodel import SQLModel, col

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.store.auditing import (
    LOCK_ORGANIZATION,
    AuditActor,
    Audited,
    Listing,
    audited,
    change,
    enforce_bound,
    record,
    scope_of,
    shown,
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
from swap_api.model.refusals import NotFound
from swap_runtime.postgres.database import Engine, reading, transaction
from swap_runtime.postgres.models import columns_of, names_of, read_row, statement_of
from swap_runtime.postgres.sql import Statement

ORGANIZATION: Final = names_of(OrganizationFacts, PartnerTable)
APP: Final = names_of(AppFacts, AppTable)
OF_ORGANIZATION: Final = within_text("partner_id")

ADD_ORGANIZATION: Final = audited(
    OrganizationFacts,
    f"""
INSERT INTO partner (id, name, created_at) VALUES (:id, :name, :at)
RETURNING {ORGANIZATION}, id AS partner_id
""",
)
RENAME_ORGANIZATION: Final = audited(
    OrganizationFacts,
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

ADD_APP: Final = audited(
    AppFacts,
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
CHANGE_SETTINGS: Final = audited(
    AppFacts,
    f"""
UPDATE app SET name = coalesce(CAST(:name AS text), name),
               swap_lifetime = CAST(:swap_lifetime AS interval)
WHERE id = :id AND {OF_ORGANIZATION}
RETURNING {APP}
""",
)
RENAME_APP: Final = audited(
    AppFacts,
    f"UPDATE app SET name = :name WHERE id = :id AND {OF_ORGANIZATION} RETURNING {APP}",
)
SET_LIMITS: Final = audited(
    AppFacts,
    f"""
UPDATE app SET reads_per_minute = CAST(:reads AS int), prices_per_minute = CAST(:prices AS int),
  creates_per_minute = CAST(:creates AS int), ceiling_factor = CAST(:ceiling_factor AS int),
  pending_swaps_max = CAST(:pending_swaps AS int), limits_lifted = :is_lifted
WHERE id = :id AND {OF_ORGANIZATION}
RETURNING {APP}
""",
)
SET_FEE: Final = audited(
    AppFacts,
    f"""
UPDATE app SET fee_basis_points = :fee_basis_points WHERE id = :id AND {OF_ORGANIZATION}
RETURNING {APP}
""",
)
SET_FRAME_ORIGINS: Final = audited(
    AppFacts,
    f"""
UPDATE app SET frame_origins = CAST(:origins AS text[]) WHERE id = :id AND {OF_ORGANIZATION}
RETURNING {APP}
""",
)
NOTE: Final = audited(
    ChangedFacts,
    "SELECT CAST(:subject_id AS uuid) AS id, CAST(:partner_id AS uuid) AS partner_id",
)
CHANGES: Final = Listing.of(
    ChangeFacts,
    select(*columns_of(ChangeFacts, AuditEntryTable))
    .where(col(AuditEntryTable.partner_id) == bindparam("partner_id"))
    .order_by(col(AuditEntryTable.id).desc()),
    after=col(AuditEntryTable.id) < bindparam("starting_after"),
)


class PostgresPartners:
    """Organizations and their apps.

    What is found and changed by id is the actor's organization's. `add_app`, `list_apps`,
    `list_changes` and `note` take an organization that the use case has looked up for the actor.
    Every change is written into the audit log with it, or neither is.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add_organization(
        self, organization_id: UUID, name: str, actor: Actor, at: datetime
    ) -> Row:
        values = {"id": organization_id, "name": name}
        return await self._change(
            ADD_ORGANIZATION, values, "organization.added", {"name": name}, actor=actor, at=at
        )

    async def rename_organization(
        self, organization_id: UUID, name: str, actor: Actor, at: datetime
    ) -> Row:
        """
        :raises NotFound: when there is no such organization.
        """
        values = {"id": organization_id, "name": name, "scope": scope_of(actor)}
        audit: AuditActor = {"actor": actor, "at": at}
        async with transaction(self._engine) as connection:
            connection.post(LOCK_ORGANIZATION, {"id": organization_id})
            return await change(
                connection,
                RENAME_ORGANIZATION,
                values,
                action="organization.renamed",
                details={"name": name},
                **audit,
            )

    async def find_organization(self, organization_id: UUID, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such organization.
        """
        return await self._find(OrganizationFacts, FIND_ORGANIZATION, organization_id, actor)

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
        values = {
            "id": app_id,
            "partner_id": organization_id,
            "name": name,
            "environment": environment.value,
            "swap_lifetime": allowances.swap_lifetime,
            **_limits(allowances),
        }
        details = {"name": name, "environment": environment}
        audit: AuditActor = {"actor": actor, "at": at}
        counted = {"id": organization_id}
        async with transaction(self._engine) as connection:
            await enforce_bound(connection, bound, COUNT_APPS, counted, lock=LOCK_ORGANIZATION)
            return await change(
                connection, ADD_APP, values, action="app.added", details=details, **audit
            )

    async def find_app(self, app_id: UUID, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        return await self._find(AppFacts, FIND_APP, app_id, actor)

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
        values = {
            "id": app_id,
            "name": name,
            "swap_lifetime": swap_lifetime,
            "scope": scope_of(actor),
        }
        seconds = None if swap_lifetime is None else int(swap_lifetime.total_seconds())
        named = {} if name is None else {"name": name}
        details = {**named, "swap_lifetime_seconds": seconds}
        return await self._change(
            CHANGE_SETTINGS, values, "app.changed", details, actor=actor, at=at
        )

    async def rename_app(self, app_id: UUID, name: str, actor: Actor, at: datetime) -> Row:
        """Set the name of an app; its settings stay.

        :raises NotFound: when there is no such app.
        """
        values = {"id": app_id, "scope": scope_of(actor), "name": name}
        return await self._change(
            RENAME_APP, values, "app.renamed", {"name": name}, actor=actor, at=at
        )

    async def set_limits(
        self, app_id: UUID, allowances: Allowances, actor: Actor, at: datetime
    ) -> Row:
        """Set what an app may; its settings stay.

        :raises NotFound: when there is no such app.
        """
        limits = _limits(allowances)
        values = {"id": app_id, "scope": scope_of(actor), **limits}
        return await self._change(SET_LIMITS, values, "app.limits_set", limits, actor=actor, at=at)

    async def set_fee(self, app_id: UUID, basis_points: int, actor: Actor, at: datetime) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        fee = {"fee_basis_points": basis_points}
        values = {"id": app_id, "scope": scope_of(actor), **fee}
        return await self._change(SET_FEE, values, "app.fee_set", fee, actor=actor, at=at)

    async def set_frame_origins(
        self, app_id: UUID, origins: Sequence[str], actor: Actor, at: datetime
    ) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        values = {"id": app_id, "scope": scope_of(actor), "origins": list(origins)}
        details = {"frame_origins": list(origins)}
        return await self._change(
            SET_FRAME_ORIGINS, values, "app.frame_origins_set", details, actor=actor, at=at
        )

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
        audit: AuditActor = {"actor": actor, "at": at}
        # What another service did is logged, even if the actor has left since.
        async with transaction(self._engine) as connection:
            await record(connection, NOTE, values, action=action, details=details, **audit)

    async def _find(
        self, facts: type[SQLModel], statement: Statement, wanted: UUID, actor: Actor
    ) -> Row:
        values = {"id": wanted, "scope": scope_of(actor)}
        async with reading(self._engine) as connection:
            row = (await connection.execute(statement, values)).one_or_none()
        if row is None:
            raise NotFound
        return shown(read_row(facts, row))

    async def _change(
        self,
        statement: Audited,
        values: Mapping[str, Any],
        action: str,
        details: Mapping[str, Any],
        **audit: Unpack[AuditActor],
    ) -> Row:
        async with transaction(self._engine) as connection:
            return await change(
                connection, statement, values, action=action, details=details, **audit
            )


def _limits(allowances: Allowances) -> dict[str, Any]:
    return {
        "reads": allowances.reads,
        "prices": allowances.prices,
        "creates": allowances.creates,
        "ceiling_factor": allowances.ceiling_factor,
        "pending_swaps": allowances.pending_swaps,
        "is_lifted": allowances.is_lifted,
    }
