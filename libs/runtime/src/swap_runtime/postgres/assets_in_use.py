"""Refuses a catalogue that lacks a network or token of open swaps or unfinished payments."""

from __future__ import annotations

from typing import Final

import structlog

from swap_domain.catalogue import Catalogue
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql

log = structlog.get_logger()
# No row where there is no such view: pg_class is readable without any right to the view.
IS_READABLE: Final = sql("""
SELECT has_schema_privilege(pg_namespace.oid, 'USAGE')
  AND has_table_privilege(pg_class.oid, 'SELECT') AS is_readable
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relname = 'asset_in_use' AND nspname = 'settler'
""")
IN_USE: Final = sql("SELECT network, token FROM settler.asset_in_use ORDER BY network, token")


class AssetsAbsent(Exception):
    """The catalogue lacks networks or tokens that open swaps or unfinished payments need."""

    def __init__(self, assets: list[str]) -> None:
        super().__init__(
            f"open swaps or payments need what the catalogue does not name: {', '.join(assets)}. "
            "Put it back with its routes closed, until nothing of it is open "
            "(docs/catalogue.md, Remove a network or a token)"
        )


async def require_assets_in_use(engine: Engine, catalogue: Catalogue) -> None:
    """Make sure that the catalogue names all that open swaps and unfinished payments need.

    A service without it would neither see their deposits nor finish their payments. Before the
    first migration of the settler there are no swaps.

    :raises AssetsAbsent: when it does not.
    """
    async with reading(engine) as connection:
        if not await connection.scalar(IS_READABLE):
            log.warning("the catalogue is not compared with open swaps", view="asset_in_use")
            return
        rows = list(await connection.execute(IN_USE))
    absent = ["/".join(filter(None, row)) for row in rows if not _names(catalogue, *row)]
    if absent:
        raise AssetsAbsent(absent)


def _names(catalogue: Catalogue, network: str, token: str | None) -> bool:
    known = catalogue.networks.get(network)
    return known is not None and (token is None or known.find_token(token) is not None)
