"""Compares the ledger with the chains, each at one final block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from swapctl.admin_client import RequestFailed
from swapctl.auditor import Auditor, open_auditor
from swapctl.context import get_endpoints
from swapctl.network_nodes import NetworkNodes, find_nodes
from swapctl.output import Json, show_all

COLUMNS: Final = ("network", "holder", "address", "token", "block", "ledger", "chain", "difference")
# The newest final block that the ledger has booked.
BLOCKS: Final = """
SELECT ledger.network, least(ledger.number, watch.finalized_number) AS number
FROM settler.ledger_cursor AS ledger JOIN chain_watcher.watch_cursor AS watch USING (network)
ORDER BY ledger.network
"""
BALANCES: Final = """
SELECT account.holder, account.address, account.token,
       coalesce(sum(posting.base_units) FILTER (WHERE moved.effective_block <= %s), 0) AS units
FROM settler.account
JOIN settler.posting ON posting.account_id = account.id
JOIN settler.ledger_transaction AS moved ON moved.id = posting.transaction_id
WHERE account.kind = 'custody' AND account.network = %s
  AND (account.holder <> 'deposit_address' OR account.balance <> 0)
GROUP BY account.holder, account.address, account.token
ORDER BY account.holder, account.address, account.token
"""


def reconcile(
    context: typer.Context,
    *,
    network: Annotated[str | None, typer.Option(help="Only this network.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the ledger's custody with the chains, at one final block of each network.

    The nodes must still have the state of that block. The exit code is 1 if a balance differs.
    """
    known = get_endpoints(context)
    nodes = find_nodes(known)
    rows: list[dict[str, Any]] = []
    with open_auditor(known.auditor_url) as auditor:
        for place in auditor.rows(BLOCKS):
            if network in (None, place["network"]):
                of_network = nodes.get(place["network"])
                if of_network is None:
                    raise RequestFailed(
                        f"no node of {place['network']} is configured: set SWAP_NODES"
                    )
                rows += _compare(auditor, of_network, place["number"])
    if not rows:
        raise RequestFailed("nothing to compare: no such network has a ledger")
    show_all(rows, as_json=as_json, columns=COLUMNS)
    if any(row["difference"] != "0" for row in rows):
        raise typer.Exit(1)


def _compare(auditor: Auditor, nodes: NetworkNodes, block: int) -> Iterator[dict[str, Any]]:
    for row in auditor.rows(BALANCES, [block, nodes.network]):
        token, address, units = row["token"], row["address"], int(row["units"])
        on_chain = nodes.ask(lambda node: node.token_balance(token, address, block))  # noqa: B023
        yield {
            "network": nodes.network,
            "holder": row["holder"],
            "address": address,
            "token": token,
            "block": block,
            "ledger": str(units),
            "chain": str(on_chain),
            "difference": str(on_chain - units),
        }
