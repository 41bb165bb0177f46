"""What the owner takes out of the Treasury. Pure.

It is published when it is final, and booked when the ledger has the amount. Facts of earlier
deposits may arrive after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from swap_settler.model.ledger.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)
from swap_settler.model.ledger.inventory import AssetKey, Inventory, inventory_after
from swap_settler.model.treasury import Withdrawal


@dataclass(frozen=True, slots=True)
class Booking:
    """What can be booked now, and what waits for the ledger to have it."""

    done: tuple[Withdrawal, ...]
    entries: tuple[LedgerTransaction, ...]
    short: tuple[Withdrawal, ...]
    indebted: tuple[AssetKey, ...]  # more was withdrawn than the inventory had


def book(final: Sequence[Withdrawal], inventory: Mapping[AssetKey, Inventory]) -> Booking:
    """Book in the order of the blocks; of one asset, none overtakes another.

    :param final: final withdrawals that are not booked.
    :param inventory: the locked row of each of their assets.
    """
    rows, done, entries, short = dict(inventory), [], [], []
    waiting: set[AssetKey] = set()
    for one in final:
        row = rows[one.asset]
        if one.asset in waiting or row.held_base_units < one.base_units:
            waiting.add(one.asset)
            short.append(one)
            continue
        entry = _to_transaction(one)
        rows[one.asset] = inventory_after(row, [entry])
        done.append(one)
        entries.append(entry)
    moved = {one.asset for one in done}
    indebted = [asset for asset in sorted(moved) if rows[asset].available_base_units < 0]
    return Booking(tuple(done), tuple(entries), tuple(short), tuple(indebted))


def _to_transaction(one: Withdrawal) -> LedgerTransaction:
    """The owner's money is with the owner again."""
    custody = Account(AccountKind.CUSTODY, *one.asset, holder=Holder.TREASURY, address=one.treasury)
    return LedgerTransaction(
        kind="withdrawn",
        dedupe_key=f"withdrawn/{one.id}",
        swap_id=None,
        network=one.network,
        effective_block=one.block_number,
        postings=(
            Posting(Account(AccountKind.EQUITY, *one.asset), one.base_units),
            Posting(custody, -one.base_units),
        ),
    )
