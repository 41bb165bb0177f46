"""What can be paid out of one asset: what the Treasury holds less what is owed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from swap_settler.model.ledger.accounts import LedgerTransaction

MAX_UNITS: Final = 2**256 - 1
AssetKey = tuple[str, str]  # network, token


@dataclass(frozen=True, slots=True)
class Inventory:
    network: str
    token: str
    held_base_units: int = 0
    owed_base_units: int = 0
    version: int = 0

    @property
    def available_base_units(self) -> int:
        return self.held_base_units - self.owed_base_units


def assets_moved(transactions: Iterable[LedgerTransaction]) -> set[AssetKey]:
    """Return the assets with an inventory that the bookings may move."""
    return {
        (posting.account.network, posting.account.token)
        for transaction in transactions
        for posting in transaction.postings
        if posting.account.is_held or posting.account.is_owed
    }


def inventory_after(inventory: Inventory, transactions: Iterable[LedgerTransaction]) -> Inventory:
    """Return the row after the bookings, of the next version if they moved it."""
    held, owed = inventory.held_base_units, inventory.owed_base_units
    for posting in (posting for t in transactions for posting in t.postings):
        account = posting.account
        if (account.network, account.token) != (inventory.network, inventory.token):
            continue
        if account.is_held:
            held += posting.base_units
        elif account.is_owed:
            owed -= posting.base_units
    if (held, owed) == (inventory.held_base_units, inventory.owed_base_units):
        return inventory
    return replace(
        inventory, held_base_units=held, owed_base_units=owed, version=inventory.version + 1
    )
