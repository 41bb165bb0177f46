from __future__ import annotations

from swap_api.management.store.partners import PostgresPartners
from swap_api.model.members import Actor
from swap_api.request_log.decide.records import RecordPage, RequestFilter
from swap_api.request_log.store.records import PostgresRequestRecords


class ListRequests:
    """List the recorded requests of an app's keys."""

    def __init__(self, records: PostgresRequestRecords, partners: PostgresPartners) -> None:
        self._records = records
        self._partners = partners

    async def __call__(self, wanted: RequestFilter, *, actor: Actor) -> RecordPage:
        """
        :raises NotFound: when there is no such app, or it is another organization's.
        """
        await self._partners.find_app(wanted.app_id, actor)
        return await self._records.list(wanted)
