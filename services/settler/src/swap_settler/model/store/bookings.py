"""Books ledger transactions: accounts, balances, postings and the inventory they move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Transaction
from swap_settler.model.ledger.accounts import Account, LedgerTransaction
from swap_settler.model.ledger.inventory import Inventory, inventory_after
from swap_settler.model.store import statements


def book(connection: Transaction, entries: Sequence[LedgerTransaction]) -> None:
    """Write the bookings, one statement per table; Postgres refuses what does not balance.

    No statement waits for its id: an account is named by its position among the locked accounts.
    """
    moved: Counter[Account] = Counter()
    for posting in (posting for entry in entries for posting in entry.postings):
        moved[posting.account] += posting.base_units
    accounts = sorted(moved, key=_order)
    places = {account: n for n, account in enumerate(accounts, 1)}
    postings = [
        {
            "transaction_id": entry.id,
            "n": n,
            "account_n": places[posting.account],
            "base_units": str(posting.base_units),
        }
        for entry in entries
        for n, posting in enumerate(entry.postings)
    ]
    identities = columns([statements.ACCOUNT_COLUMNS.row(account) for account in accounts])
    units = {"moved": [str(moved[account]) for account in accounts]}
    transactions = [statements.LEDGER_TRANSACTION_COLUMNS.row(entry) for entry in entries]
    connection.post(statements.LOCK_ACCOUNTS, identities)
    connection.post(statements.ADD_LEDGER_TRANSACTIONS, columns(transactions))
    connection.post(statements.BOOK, {**identities, **units, **columns(postings)})


def move_inventory(
    connection: Transaction,
    known: Sequence[Inventory],
    entries: Sequence[LedgerTransaction],
) -> Sequence[Inventory]:
    """Write what the bookings leave of rows that are locked; return those that moved."""
    moved = [new for row in known if (new := inventory_after(row, entries)) != row]
    if moved:
        rows = [statements.INVENTORY_COLUMNS.row(inventory) for inventory in moved]
        connection.post(statements.MOVE_INVENTORY, columns(rows))
    return moved


def _order(account: Account) -> tuple[str, ...]:
    """Return the order in which every transaction locks accounts."""
    identity = statements.ACCOUNT_COLUMNS.row(account).values()
    return tuple("" if value is None else str(value) for value in identity)
