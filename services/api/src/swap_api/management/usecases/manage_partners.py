from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from swap_api.management.decide.bounds import Bounds, CountedKind
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.keys import Allowances, Environment
from swap_api.model.members import OPERATOR, Actor, Role
from swap_api.model.refusals import Invalid
from swap_api.read_model.swaps import NewId
from swap_runtime.clock import Clock


class ManagePartners:
    """Keep the register of organizations and their apps."""

    def __init__(
        self, partners: PostgresPartners, bounds: Bounds, *, clock: Clock, new_id: NewId
    ) -> None:
        self._partners = partners
        self._bounds = bounds
        self._clock = clock
        self._new_id = new_id

    async def add_organization(self, name: str, *, actor: Actor = OPERATOR) -> Row:
        return await self._partners.add_organization(self._new_id(), name, actor, self._clock())

    async def rename_organization(self, organization_id: UUID, name: str, *, actor: Actor) -> Row:
        """
        :raises ApiRefusal: when there is no such organization, or the role is too low.
        """
        await self._partners.find_organization(organization_id, actor)
        actor.require(Role.ADMIN)
        return await self._partners.rename_organization(organization_id, name, actor, self._clock())

    async def find_organization(self, organization_id: UUID, *, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such organization.
        """
        return await self._partners.find_organization(organization_id, actor)

    async def list_organizations(self, window: Window, *, actor: Actor) -> Part:
        return await self._partners.list_organizations(actor, window)

    async def add_app(
        self,
        organization_id: UUID,
        *,
        name: str,
        environment: Environment,
        allowances: Allowances,
        actor: Actor = OPERATOR,
    ) -> Row:
        """
        :raises ApiRefusal: when there is no such organization, the role is too low, or there are
            as many apps as may be.
        """
        await self._partners.find_organization(organization_id, actor)
        actor.require_to_work_on(environment)
        _check_lifetime(allowances.swap_lifetime, environment)
        return await self._partners.add_app(
            self._new_id(),
            organization_id,
            name=name,
            environment=environment,
            allowances=allowances,
            bound=self._bounds.of(CountedKind.APPS, actor),
            actor=actor,
            at=self._clock(),
        )

    async def find_app(self, app_id: UUID, *, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        return await self._partners.find_app(app_id, actor)

    async def list_apps(self, organization_id: UUID, window: Window, *, actor: Actor) -> Part:
        """
        :raises NotFound: when there is no such organization.
        """
        await self._partners.find_organization(organization_id, actor)
        return await self._partners.list_apps(organization_id, window)

    async def change_settings(
        self, app_id: UUID, *, name: str | None, swap_lifetime: timedelta | None, actor: Actor
    ) -> Row:
        """
        :param name: None: as before.
        :raises ApiRefusal: when there is no such app, the role is too low, or a live app's swaps
            would have another lifetime than documented.
        """
        app = await self._partners.find_app(app_id, actor)
        environment = Environment(app["environment"])
        actor.require_to_work_on(environment)
        _check_lifetime(swap_lifetime, environment)
        return await self._partners.change_settings(
            app_id, name=name, swap_lifetime=swap_lifetime, actor=actor, at=self._clock()
        )

    async def rename_app(self, app_id: UUID, name: str, *, actor: Actor) -> Row:
        """Change the name alone; a change of settings at the same time stays.

        :raises ApiRefusal: when there is no such app, or the role is too low.
        """
        app = await self._partners.find_app(app_id, actor)
        actor.require_to_work_on(Environment(app["environment"]))
        return await self._partners.rename_app(app_id, name, actor, self._clock())

    async def set_limits(self, app_id: UUID, allowances: Allowances, *, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        return await self._partners.set_limits(app_id, allowances, actor, self._clock())

    async def set_fee(self, app_id: UUID, basis_points: int, *, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such app.
        """
        return await self._partners.set_fee(app_id, basis_points, actor, self._clock())

    async def set_frame_origins(self, app_id: UUID, origins: Sequence[str], *, actor: Actor) -> Row:
        """Set which sites may show the pay pages of an app in a frame.

        :raises ApiRefusal: when there is no such app, the role is too low, or a site of a live
            app is not https.
        """
        app = await self._partners.find_app(app_id, actor)
        environment = Environment(app["environment"])
        actor.require_to_work_on(environment)
        if environment is Environment.LIVE and not all(map(_is_https, origins)):
            raise Invalid.field("origins", "must be https for a live app")
        return await self._partners.set_frame_origins(app_id, origins, actor, self._clock())

    async def list_changes(self, organization_id: UUID, window: Window, *, actor: Actor) -> Part:
        """Return what was changed in an organization, the newest first.

        :raises ApiRefusal: when there is no such organization, or the role is too low.
        """
        await self._partners.find_organization(organization_id, actor)
        actor.require(Role.ADMIN)
        return await self._partners.list_changes(organization_id, window)


def _is_https(origin: str) -> bool:
    return origin.startswith("https://")


def _check_lifetime(swap_lifetime: timedelta | None, environment: Environment) -> None:
    if swap_lifetime is not None and environment is not Environment.TEST:
        raise Invalid.field(
            "swap_lifetime_seconds", "may be set for test apps only; live swaps live as promised"
        )
