from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_api.management.decide.bounds import Bounds, CountedKind
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.ports import WebhookEndpoints
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.keys import Caller, Environment
from swap_api.model.members import Actor
from swap_api.model.refusals import NotFound
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.usecases.find_own_swap import find_own_swap
from swap_runtime.clock import Clock

NO_MEMBER: Final = UUID(int=0)
SWITCHES: Final = frozenset({"enable", "disable", "remove"})
OWNER: Final = "owner"
OPERATOR: Final = "operator"
DAY: Final = timedelta(days=1)


class ManageWebhooks:
    """Manage the webhook endpoints of an app, which the notifier keeps."""

    def __init__(
        self,
        endpoints: WebhookEndpoints,
        partners: PostgresPartners,
        swaps: PostgresSwaps,
        bounds: Bounds,
        *,
        clock: Clock,
    ) -> None:
        self._endpoints = endpoints
        self._partners = partners
        self._swaps = swaps
        self._bounds = bounds
        self._clock = clock

    async def list_all(self, app_id: UUID, *, actor: Actor) -> list[Row]:
        """
        :raises NotFound: when there is no such app.
        """
        await self._partners.find_app(app_id, actor)
        return list(await self._endpoints.list_all(app_id))

    async def add(self, app_id: UUID, settings: Row, *, actor: Actor) -> Row:
        """Add an endpoint; its secret is in the answer, this once.

        :raises ApiRefusal: when there is no such app, or the role is too low. Also when the app is
            at its bound of endpoints, or the address is not allowed.
        """
        organization_id = await self._permitted_organization(app_id, actor)
        bound = self._bounds.of(CountedKind.WEBHOOKS, actor)
        added = await self._endpoints.add(app_id, settings, bound=bound)
        await self._note(
            organization_id, "added", UUID(added["id"]), {"app_id": app_id, **settings}, actor
        )
        return added

    async def order(self, endpoint_id: UUID, what: str, details: Row, *, actor: Actor) -> Row:
        """Carry out an order about an endpoint.

        :raises ApiRefusal: when there is no such endpoint, the role is too low, or a member would
            enable what an operator disabled.
        """
        app_id = await self._app_of(endpoint_id)
        organization_id = await self._permitted_organization(app_id, actor)
        who = {"by": OPERATOR if actor.is_operator else OWNER} if what in SWITCHES else {}
        done = await self._endpoints.order(endpoint_id, what, {**details, **who})
        await self._note(organization_id, what, endpoint_id, {"app_id": app_id, **details}, actor)
        return done

    async def messages(
        self, endpoint_id: UUID, filters: Row, window: Window, *, actor: Actor
    ) -> Part:
        """
        :raises NotFound: when there is no such endpoint.
        """
        await self._partners.find_app(await self._app_of(endpoint_id), actor)
        return await self._endpoints.messages(endpoint_id, filters, window)

    async def message(self, endpoint_id: UUID, message_id: str, *, actor: Actor) -> Row:
        """
        :raises NotFound: when there is no such endpoint, or it has no such message.
        """
        await self._partners.find_app(await self._app_of(endpoint_id), actor)
        return await self._endpoints.message(endpoint_id, message_id)

    async def figures(self, app_id: UUID, *, actor: Actor) -> list[Row]:
        """Return for each endpoint how many messages of the last day got through.

        :raises NotFound: when there is no such app.
        """
        await self._partners.find_app(app_id, actor)
        since = self._clock().replace(microsecond=0) - DAY
        return list(await self._endpoints.figures(app_id, since=since))

    async def messages_of_swap(self, caller: Caller, swap_id: UUID, *, actor: Actor) -> list[Row]:
        """Return the messages about a swap of an app's.

        :param caller: the app, as its own secret key would be.
        :raises NotFound: for an unknown id and for another app's alike.
        """
        await find_own_swap(self._swaps, caller, swap_id)
        await self._partners.find_app(caller.app_id, actor)
        return list(await self._endpoints.messages_of_swap(caller.app_id, swap_id))

    async def replay(self, endpoint_id: UUID, message_id: str, *, actor: Actor) -> Row:
        """Have one message sent again as it was.

        :raises ApiRefusal: when the endpoint has no such message, is disabled, or the role is too
            low.
        """
        app_id = await self._app_of(endpoint_id)
        organization_id = await self._permitted_organization(app_id, actor)
        replayed = await self._endpoints.replay(endpoint_id, message_id)
        details = {"app_id": app_id, "message_id": message_id}
        await self._note(organization_id, "replay", endpoint_id, details, actor)
        return replayed

    async def _permitted_organization(self, app_id: UUID, actor: Actor) -> UUID:
        app = await self._partners.find_app(app_id, actor)
        actor.require_to_work_on(Environment(app["environment"]))
        organization_id: UUID = app["organization_id"]
        return organization_id

    async def _app_of(self, endpoint_id: UUID) -> UUID:
        """Return the owner's id; unknown ids take the same statements as those of other tenants."""
        try:
            return UUID((await self._endpoints.find(endpoint_id))["app_id"])
        except NotFound:
            return NO_MEMBER

    async def _note(
        self, organization_id: UUID, what: str, endpoint_id: UUID, details: Row, actor: Actor
    ) -> None:
        await self._partners.note(
            organization_id,
            f"webhook.{what}",
            endpoint_id,
            details,
            actor=actor,
            at=self._clock(),
        )
