"""Stores what can be paid out of each asset."""

from __future__ import annotations

from collections.abc import Sequence

from swap_contracts.envelope import Envelope
from swap_contracts.swaps import InventoryChanged
from swap_quoter.adapters.unit_of_work import PostgresUnitOfWork
from swap_quoter.domain.market import InventoryUpdate


class RecordInventory:
    def __init__(self, unit_of_work: PostgresUnitOfWork) -> None:
        self._unit_of_work = unit_of_work

    async def __call__(self, messages: Sequence[Envelope[InventoryChanged]]) -> None:
        async with self._unit_of_work() as work:
            fresh = await work.mark_seen([message.message_id for message in messages])
            newest: dict[tuple[str, str], InventoryUpdate] = {}
            for message in messages:
                update = _update_of(message.body)
                known = newest.get((update.network, update.token))
                is_newer = known is None or update.version > known.version
                if message.message_id in fresh and is_newer:
                    newest[update.network, update.token] = update
            if newest:
                await work.save_inventory(list(newest.values()))


def _update_of(body: InventoryChanged) -> InventoryUpdate:
    return InventoryUpdate(
        network=body.network,
        token=body.token,
        version=body.version,
        available_base_units=int(body.available_base_units),
    )
