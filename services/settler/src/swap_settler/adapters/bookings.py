"""Books ledger transactions: accounts, balances, postings and the inventory they move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from swap_runtime.columns import columns
from swap_runtime.database import Transaction
from swap_settler.adapters import statements
from swap_settler.adapters.rows import (
    account_row,
    inventory_row,
    ledger_transaction_row,
    to_account,
)
from swap_settler.domain.accounts import Account, LedgerTransaction
from swap_settler.domain.inventory import Inventory, after


async def book(connection: Transaction, entries: Sequence[LedgerTransaction]) -> None:
    """Write the bookings, one statement per table; Postgres refuses what does not balance."""
    moved: Counter[Account] = Counter()
    for posting in (posting for entry in entries for posting in entry.postings):
        moved[posting.account] += posting.base_units
    ids = await _lock_accounts(connection, sorted(moved, key=_order))
    balances = [
        {"id": ids[account], "base_units": str(units)} for account, units in moved.items() if units
    ]
    transactions = [ledger_transaction_row(entry) for entry in entries]
    postings = [
        {
            "transaction_id": entry.id,
            "n": n,
            "account_id": ids[posting.account],
            "base_units": str(posting.base_units),
        }
        for entry in entries
        for n, posting in enumerate(entry.postings)
    ]
    if balances:
        connection.post(statements.MOVE_BALANCES, columns(balances))
    connection.post(statements.ADD_LEDGER_TRANSACTIONS, columns(transactions))
    connection.post(statements.ADD_POSTINGS, columns(postings))


def move_inventory(
    connection: Transaction,
    known: Sequence[Inventory],
    entries: Sequence[LedgerTransaction],
) -> Sequence[Inventory]:
    """Write what the bookings leave of rows that are locked; return those that moved."""
    moved = [new for row in known if (new := after(row, entries)) != row]
    if moved:
        rows = [inventory_row(inventory) for inventory in moved]
        connection.post(statements.MOVE_INVENTORY, columns(rows))
    return moved


async def _lock_accounts(
    connection: Transaction, accounts: Sequence[Account]
) -> dict[Account, int]:
    values = columns([account_row(account) for account in accounts])
    rows = await connection.execute(statements.LOCK_ACCOUNTS, values)
    return {to_account(row): row.id for row in rows}


def _order(account: Account) -> tuple[str, ...]:
    """Return the order in which every transaction locks accounts."""
    return tuple("" if value is None else str(value) for value in account_row(account).values())
