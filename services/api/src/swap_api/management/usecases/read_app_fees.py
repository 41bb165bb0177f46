from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from swap_api.management.decide.app_fees import FeeBalance, FeeFilter, FeePage
from swap_api.management.store.app_fees import PostgresAppFees
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.members import Actor


class ReadAppFees:
    """Read what an app has earned by its own fee, and what it is made of."""

    def __init__(self, fees: PostgresAppFees, partners: PostgresPartners) -> None:
        self._fees = fees
        self._partners = partners

    async def __call__(self, app_id: UUID, *, actor: Actor) -> Sequence[FeeBalance]:
        """
        :raises NotFound: when there is no such app, or it is another organization's.
        """
        await self._partners.find_app(app_id, actor)
        return await self._fees.balances(app_id)

    async def list(self, wanted: FeeFilter, *, actor: Actor) -> FeePage:
        """
        :raises NotFound: when there is no such app, or it is another organization's.
        """
        await self._partners.find_app(wanted.app_id, actor)
        return await self._fees.list(wanted)
