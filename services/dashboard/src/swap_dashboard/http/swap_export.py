"""The list of swaps as CSV, page by page as the api answers, with the filters of the list."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from swap_dashboard.http.swap_view import of_type, sum_of
from swap_dashboard.ports import MemberApi

PAGE_SIZE: Final = 100
ROWS_MAX: Final = 50_000
# A spreadsheet computes a cell that begins with one of these; the wide forms count there, too.
FORMULA_STARTS: Final = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)
COLUMNS: Final = (
    "id",
    "status",
    "reference",
    "created",
    "closed",
    "source_network",
    "source_token",
    "requested_amount",
    "destination_network",
    "destination_token",
    "quoted_amount",
    "delivered_amount",
    "total_fee",
    "total_fee_in_usd",
    "refund_fee",
    "source_address",
    "destination_address",
    "input_transaction",
    "output_transaction",
    "refund_transaction",
    "fail_reason",
)


async def csv_of(
    api: MemberApi, path: str, query: Mapping[str, Any], *, rows_max: int = ROWS_MAX
) -> AsyncIterator[str]:
    """Yield the header and then a page at a time, newest first, up to a bound.

    A failure ends the answer in the middle, which a browser shows as a failed download.

    :raises ApiRefused: when the api refuses.
    :raises ApiUnavailable: when it does not answer.
    """
    yield _lines([COLUMNS])
    behind, left = "", rows_max
    while left > 0:
        wanted = {**query, "page_size": min(PAGE_SIZE, left), "starting_after": behind}
        answered = await api.get(path, wanted)
        rows = [row_of(item) for item in answered.data]
        if rows:
            yield _lines(rows)
        left -= len(rows)
        if not rows or not answered.has_more:
            return
        behind = answered.data[-1]["swap"]["id"]


def row_of(item: Mapping[str, Any]) -> list[str]:
    swap, quote = item["swap"], item["quote"]
    inputs, outputs, refunds = (of_type(swap, kind) for kind in ("input", "output", "refund"))
    values = (
        swap["id"],
        swap["status"],
        swap["metadata"]["reference_id"],
        swap["created_date"],
        swap["close_date"],
        swap["source_network"]["name"],
        swap["source_token"]["symbol"],
        swap["requested_amount"],
        swap["destination_network"]["name"],
        swap["destination_token"]["symbol"],
        quote["receive_amount"],
        sum_of(outputs, "amount"),
        quote["total_fee"],
        quote["total_fee_in_usd"],
        sum_of(refunds, "fee_amount"),
        swap["source_address"],
        swap["destination_address"],
        _hashes(inputs),
        _hashes(outputs),
        _hashes(refunds),
        swap["fail_reason"],
    )
    return [cell(value) for value in values]


def cell(value: Any) -> str:
    """Return the text of a cell. An apostrophe marks as text what would be computed."""
    if value is None:
        return ""
    if isinstance(value, int | float | Decimal):
        return f"{Decimal(str(value)).normalize():f}"
    text = str(value).replace("\x00", "")
    return f"'{text}" if text.lstrip().startswith(FORMULA_STARTS) or text[:1].isspace() else text


def _hashes(transactions: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(one["transaction_hash"] or "" for one in transactions)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()
