"""What of a network is still open, by the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swapctl.auditor import Auditor, Row

OPEN_SWAPS: Final = """
SELECT status, count(*) AS count FROM settler.swap
WHERE (source_network = %s OR destination_network = %s)
  AND status IN ('user_transfer_pending', 'ls_transfer_pending', 'pending_refund')
GROUP BY status ORDER BY status
"""
OPEN_PAYMENTS: Final = """
SELECT kind, count(*) AS count FROM settler.intent
WHERE network = %s AND state IN ('reserved', 'assigned', 'broadcast', 'mined')
GROUP BY kind ORDER BY kind
"""
# What the ledger owes or holds there, without what an open swap is about.
BALANCES: Final = """
SELECT kind, holder, token, abs(sum(balance)) AS units FROM settler.account
WHERE network = %s AND kind IN ('claimable', 'suspense', 'partner_fee', 'custody')
GROUP BY kind, holder, token HAVING sum(balance) <> 0 ORDER BY kind, token
"""
TO_DO: Final = {
    "user_transfer_pending": "wait: unpaid swaps expire by themselves",
    "ls_transfer_pending": "wait; then swapctl stuck",
    "pending_refund": "wait; then swapctl stuck",
    "claimable": "swapctl claimable",
    "suspense": "swapctl claimable",
    "partner_fee": "swapctl fees list",
    "custody treasury": "the owner withdraws it: swapctl treasury plan",
    "custody signer": "the signer's key sends it back, after the network is out of the catalogue",
    "custody deposit_address": "swapctl claimable sweep",
}


def count_open_swaps(auditor: Auditor, network: str) -> int:
    """Return how many swaps from or to a network have not ended."""
    return sum(row["count"] for row in auditor.rows(OPEN_SWAPS, [network, network]))


def list_remains(auditor: Auditor, network: str) -> Sequence[Row]:
    """Return what is left of a network: what, how much, and what to do about it."""
    rows: list[Row] = [
        _row(f"swaps {row['status']}", row["count"], TO_DO[row["status"]])
        for row in auditor.rows(OPEN_SWAPS, [network, network])
    ]
    rows += [
        _row(f"payments {row['kind']}", row["count"], "wait; then swapctl signer list")
        for row in auditor.rows(OPEN_PAYMENTS, [network])
    ]
    for row in auditor.rows(BALANCES, [network]):
        what = " ".join(filter(None, [row["kind"], row["holder"]]))
        rows.append(_row(f"{what} of {row['token']}", int(row["units"]), TO_DO[what]))
    return rows


def _row(what: str, count: int, to_do: str) -> Row:
    return {"what": what, "amount": str(count), "to_do": to_do}
