"""The statements of a list: built from fixed parts, every value bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from swap_api.model.listing import COUNTED_MAX, SwapFilter
from swap_api.read_model.store.rows import SHOWN
from swap_domain.lifecycle import Status
from swap_runtime.postgres.sql import Statement, sql

NEWEST_FIRST: Final = "ORDER BY created_at DESC, id DESC"
# Each has an index that starts with the app and the address and ends in the order of the list.
ADDRESS_COLUMNS: Final = ("destination_address", "source_address", "refund_address")

# A page behind a swap costs the same however far down the list it is. Of no swap of the app: empty.
BEHIND: Final = """(created_at, id) < (
  SELECT start.created_at, start.id FROM swap AS start
  WHERE start.id = :starting_after AND start.app_id = :app_id)"""

FilledStatement = tuple[Statement, Mapping[str, Any]]


def page_statement(wanted: SwapFilter) -> FilledStatement:
    """Return one page of swaps and one row more, which shows whether another page follows."""
    # Ids first: the documents of the pages before are not touched.
    statement = f"SELECT {SHOWN} FROM swap WHERE id IN ({_page_ids(wanted)}) {NEWEST_FIRST}"
    return sql(statement), _page_values(wanted, wanted.page_size + 1)


def states_statement(wanted: SwapFilter) -> FilledStatement:
    """Return the ids and statuses of one page of swaps."""
    statement = f"SELECT id, status FROM swap WHERE id IN ({_page_ids(wanted)}) {NEWEST_FIRST}"
    return sql(statement), _page_values(wanted, wanted.page_size)


def count_statement(wanted: SwapFilter) -> FilledStatement:
    """Count what matches, up to a bound, so that a long history costs no more than a short one."""
    ids = _matching(wanted, _conditions(wanted), "LIMIT :reach")
    statement = f"SELECT count(*) FROM (SELECT 1 FROM ({ids}) AS matching LIMIT :reach) AS counted"
    return sql(statement), {**_values(wanted), "reach": COUNTED_MAX}


def _page_ids(wanted: SwapFilter) -> str:
    conditions = _conditions(wanted)
    if wanted.starting_after is not None:
        conditions.append(BEHIND)
    ids = _matching(wanted, conditions, f"{NEWEST_FIRST} LIMIT :reach")
    return f"SELECT id FROM ({ids}) AS matching {NEWEST_FIRST} OFFSET :offset LIMIT :limit"


def _page_values(wanted: SwapFilter, limit: int) -> dict[str, Any]:
    values = _values(wanted)
    values |= {"offset": wanted.offset, "limit": limit, "reach": wanted.offset + limit}
    if wanted.starting_after is not None:
        values["starting_after"] = wanted.starting_after
    return values


def _matching(wanted: SwapFilter, conditions: list[str], end: str) -> str:
    if not wanted.addresses:
        return f"SELECT id, created_at FROM swap WHERE {' AND '.join(conditions)} {end}"
    # Each address is looked up: with several at once no index gives the order of the list.
    branches = (
        f"(SELECT found.* FROM unnest(CAST(:addresses AS text[])) AS named(address) "
        f"CROSS JOIN LATERAL (SELECT id, created_at FROM swap "
        f"WHERE {' AND '.join([*conditions, f'{column} = named.address'])} {end}) AS found)"
        for column in ADDRESS_COLUMNS
    )
    return " UNION ".join(branches)


def _conditions(wanted: SwapFilter) -> list[str]:
    optional = (
        (wanted.statuses, "status = ANY(:statuses)"),
        (wanted.hides_expired, "status <> :expired"),
        (
            wanted.networks,
            "(source_network = ANY(:networks) OR destination_network = ANY(:networks))",
        ),
        (wanted.reference_id is not None, "reference_id = :reference_id"),
        (wanted.created_after, "created_at >= :created_after"),
        (wanted.created_before, "created_at < :created_before"),
    )
    return ["app_id = :app_id", *(condition for is_used, condition in optional if is_used)]


def _values(wanted: SwapFilter) -> dict[str, Any]:
    return {
        "app_id": wanted.app_id,
        **({"addresses": list(wanted.addresses)} if wanted.addresses else {}),
        **({"statuses": [s.value for s in wanted.statuses]} if wanted.statuses else {}),
        **({"expired": Status.EXPIRED.value} if wanted.hides_expired else {}),
        **({"networks": list(wanted.networks)} if wanted.networks else {}),
        **({"reference_id": wanted.reference_id} if wanted.reference_id is not None else {}),
        **({"created_after": wanted.created_after} if wanted.created_after else {}),
        **({"created_before": wanted.created_before} if wanted.created_before else {}),
    }
