"""Findings from the tables of a deployment: messages, endpoints and money."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from psycopg import sql

from swapctl import state_checks
from swapctl.auditor import Auditor
from swapctl.checkup import Finding

WITH_PARKED: Final = ("api", "quoter", "chain_watcher", "settler", "notifier")
PARKED: Final = b"""
SELECT count(*) AS count, CAST(extract(epoch FROM now() - min(parked_at)) AS int) AS seconds
FROM {}.parked WHERE state IN ('parked', 'releasing')
"""
# An endpoint that an operator disabled is not a problem.
FAILING_WEBHOOKS: Final = """
SELECT id, app_id, disabled_reason, failing_since FROM notifier.endpoint
WHERE disabled_reason IN ('gone', 'failing') AND disabled_at > now() - interval '7 days'
   OR disabled_at IS NULL AND failing_since < now() - interval '1 hour' ORDER BY app_id, id
"""
COVERS: Final = """
SELECT inventory.network, inventory.token, held_base_units AS held, owed_base_units AS owed,
    (SELECT sum(newest.balance) FROM settler.account CROSS JOIN LATERAL (
        SELECT balance FROM settler.balance_snapshot
        WHERE (network, address, token) = (account.network, account.address, account.token)
        ORDER BY block_number DESC LIMIT 1) AS newest
     WHERE (account.network, account.token) = (inventory.network, inventory.token)
        AND account.kind = 'custody' AND account.holder = 'treasury') AS on_chain
FROM settler.inventory ORDER BY inventory.network, inventory.token
"""
CLOSURES: Final = """
SELECT network, closed_because AS reason FROM settler.network_closure
WHERE opened_at IS NULL ORDER BY network
"""


def check_state(auditor: Auditor) -> Iterator[Finding]:
    """Yield findings about messages, endpoints, money and closed networks."""
    for schema in WITH_PARKED:
        for row in rows_of(auditor, schema, "parked", PARKED):
            yield state_checks.check_parked(schema, row["count"], row["seconds"])
    if auditor.has_table("notifier.endpoint"):
        yield from state_checks.check_endpoints(auditor.rows(FAILING_WEBHOOKS))
    if auditor.has_table("settler.inventory"):
        yield from map(state_checks.check_cover, auditor.rows(COVERS))
    if auditor.has_table("settler.network_closure"):
        yield from state_checks.check_closures(auditor.rows(CLOSURES))


def rows_of(auditor: Auditor, schema: str, table: str, query: bytes) -> list[dict[str, Any]]:
    """Return the rows of a query with `{}` for the schema; no rows if the table does not exist."""
    if not auditor.has_table(f"{schema}.{table}"):
        return []
    return auditor.rows(query.replace(b"{}", sql.Identifier(schema).as_bytes(None)))
