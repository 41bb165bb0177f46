"""Open swaps, payments and balances of a network, from the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from swapctl.auditor import Auditor, Row

OPEN_SWAPS: Final = """
SELECT status, count(*) AS count FROM settler.swap
WHERE (source_network = %s OR destination_network = %s)
  AND status IN ('user_transfer_pending', 'ls_transfer_pending', 'pending_refund')
GROUP BY status ORDER BY status
"""
# Swaps that the api accepted and the settler has not read. Their requests are in the api's outbox,
# in Kafka, or parked. One statement reads both tables: a swap between them is not missed.
UNREAD_SWAPS: Final = """
SELECT count(*) AS count FROM api.swap AS accepted
WHERE (source_network = %s OR destination_network = %s)
  AND status IN ('user_transfer_pending', 'ls_transfer_pending', 'pending_refund')
  AND NOT EXISTS (SELECT FROM settler.swap WHERE swap.id = accepted.id)
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
# Each process of the api reads closures at an interval, 0.5 s by default. A request that it checked
# before adds its swap later. Both have ended ten intervals after the closure.
CONFIRMATION_SECONDS: Final = 5.0
POLL_SECONDS: Final = 1.0
UNREAD: Final = "not read by the settler"
TO_DO: Final = {
    UNREAD: "wait; then swapctl parked list --service settler",
    "user_transfer_pending": "wait: unpaid swaps expire",
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
    """Return how many swaps from or to a network have not ended.

    Swaps that the settler has not read yet are included.
    """
    # First those on their way to the settler: between two statements a swap may only arrive there.
    unread = _count_unread(auditor, network)
    return unread + sum(int(row["count"]) for row in auditor.rows(OPEN_SWAPS, [network, network]))


def wait_for_end(
    count: Callable[[], int],
    *,
    wait: float,
    monotonic: Callable[[], float],
    sleep: Callable[[float], None],
) -> int:
    """Return 0 when no swap was open for `CONFIRMATION_SECONDS`, else how many are open in the end.

    :param count: returns how many swaps are open.
    :param wait: seconds for open swaps to end. The confirmation may take longer.
    :param monotonic: the clock, in seconds.
    """
    deadline = monotonic() + wait
    none_since: float | None = None
    while True:
        looked_at = monotonic()  # before the count: the interval between two counts is not shorter
        open_swaps = count()
        if open_swaps:
            none_since = None
            if monotonic() >= deadline:
                return open_swaps
        elif none_since is None:
            none_since = monotonic()
        elif looked_at - none_since >= CONFIRMATION_SECONDS:
            return 0
        sleep(POLL_SECONDS)


def list_remains(auditor: Auditor, network: str) -> Sequence[Row]:
    """Return what remains at a network: the kind, the amount and the next action."""
    rows: list[Row] = [
        _row(f"swaps {row['status']}", row["count"], TO_DO[row["status"]])
        for row in auditor.rows(OPEN_SWAPS, [network, network])
    ]
    if unread := _count_unread(auditor, network):
        rows.insert(0, _row(f"swaps {UNREAD}", unread, TO_DO[UNREAD]))
    rows += [
        _row(f"payments {row['kind']}", row["count"], "wait; then swapctl signer list")
        for row in auditor.rows(OPEN_PAYMENTS, [network])
    ]
    for row in auditor.rows(BALANCES, [network]):
        what = " ".join(filter(None, [row["kind"], row["holder"]]))
        rows.append(_row(f"{what} of {row['token']}", int(row["units"]), TO_DO[what]))
    return rows


def _count_unread(auditor: Auditor, network: str) -> int:
    (row,) = auditor.rows(UNREAD_SWAPS, [network, network])
    return int(row["count"])


def _row(what: str, count: int, to_do: str) -> Row:
    return {"what": what, "amount": str(count), "to_do": to_do}
