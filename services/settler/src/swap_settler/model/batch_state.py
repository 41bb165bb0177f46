"""State of one batch: facts are applied in order to the rows that its transaction locked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from swap_domain.catalogue import NATIVE
from swap_domain.money import Asset
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger.inventory import MAX_UNITS, AssetKey, Inventory, inventory_after
from swap_settler.model.settled_step import PayoutResources
from swap_settler.model.swap import Deposit, Intent, Swap


def assets_of(swap: Swap) -> set[AssetKey]:
    """Return the assets that deciding about a swap may move."""
    ends = {(end.network, end.token) for end in (swap.terms.source, swap.terms.destination)}
    if swap.quote.refuel is not None:
        ends.add((swap.terms.destination.network, NATIVE))
    return ends


class BatchState:
    """The loaded rows after the facts so far, and the changes to be saved."""

    def __init__(
        self,
        swaps: Mapping[UUID, Swap],
        inventory: Mapping[AssetKey, Inventory],
        unmatched: Mapping[UUID, Deposit] | None = None,
        standalone_intents: Mapping[UUID, Intent] | None = None,
        held: Collection[UUID] = (),
    ) -> None:
        """
        :param held: swaps that a recovery holds. What is missing of the inventory may be their
            own payout, which was forgotten: it is reserved all the same, and does not leave.
        """
        self._held = held
        self.swaps = dict(swaps)
        self.unmatched = dict(unmatched or {})
        self.standalone_intents = dict(standalone_intents or {})
        self.changes: list[Changes] = []
        self._saved = 0
        self._inventory = dict(inventory)

    def add(self, change: Changes, *, trace_id: str) -> None:
        if change == NOTHING:
            return
        self.changes.append(replace(change, trace_id=trace_id))
        if change.swap is not None:
            self.swaps[change.swap.id] = change.swap
        self.unmatched |= {d.id: d for d in change.deposits if d.swap_id is None}
        standalone_intents = {
            **self.standalone_intents,
            **{i.id: i for i in change.intents if i.swap_id is None},
        }
        self.standalone_intents = {
            id: intent for id, intent in standalone_intents.items() if intent.is_live
        }
        if change.ledger:
            self._inventory = {
                asset: inventory_after(row, change.ledger) for asset, row in self._inventory.items()
            }

    def take_unsaved(self) -> Sequence[Changes]:
        """Return the changes since the last call, for a transaction that saves in steps."""
        unsaved = self.changes[self._saved :]
        self._saved = len(self.changes)
        return unsaved

    def payout_resources(self, swap: Swap, *, paid_id: int) -> PayoutResources:
        """Return what is available to pay a swap, from the locked inventory rows."""
        destination = swap.terms.destination
        coin = replace(destination, token=NATIVE)
        is_held = swap.id in self._held
        return {
            "available": MAX_UNITS if is_held else self.available(destination),
            "paid_id": paid_id,
            "refuel_available": MAX_UNITS if is_held else self.available(coin),
        }

    def available(self, asset: Asset) -> int:
        """Return what can be paid out of a locked row; nothing of one that was not."""
        row = self._inventory.get((asset.network, asset.token))
        return 0 if row is None else row.available_base_units
