"""What the pay page shows, made of the api's answer: decisions for the template, and no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

import segno
from markupsafe import Markup

from swap_dashboard.http.rendering import to_moment
from swap_dashboard.http.swap_events import is_move, timeline_of
from swap_dashboard.http.swap_view import are_final, is_over, of_type, sum_of

WAITING: Final = "user_transfer_pending"
PAYING: Final = "ls_transfer_pending"
BY_WALLET: Final = ("transfer", "approve", "sign")
PRICED: Final = (WAITING, PAYING, "completed")  # a price applies, or was paid
# The way of a swap that goes well: every stage is behind, at, or before the swap's status.
STAGES: Final = ("deposit", "confirm", "payout", "done")
# Domains that lead nowhere (RFC 2606).
RESERVED: Final = (".example", ".invalid", ".test")
PAID_LATE: Final = "paid_late"
QUIET_ZONE: Final = 2  # modules around a code, where the page is white


def action_kind(swap: Mapping[str, Any], now: datetime) -> str:
    """Return what the payer does now: `address`, `wallet`, `waits` for the service, or `none`.

    After the deadline there is nothing to pay, even while the swap is open. A late payment would be
    refunded at best.
    """
    if is_over(swap):
        return "none"
    if left_seconds(swap, now) == 0:
        return "waits"
    step = swap["next_action"]
    if step is None or step["status"] != "action_required":
        return "waits"
    action = step["action"]
    if action is not None and action["type"] == "manual_transfer":
        return "address"
    return "wallet" if step["step"] == "sign" or _is_by_wallet(action) else "waits"


def stages(swap: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return each stage with its state: `done`, `now`, `ahead` or `stopped`."""
    status = swap["status"]
    kinds = {one["type"]: one["status"] for one in swap["transactions"]}
    if status == "completed":
        reached = len(STAGES)
    elif "output" in kinds:
        reached = 2
    elif kinds.get("input") == "completed" or status == PAYING:
        reached = 2 if kinds.get("input") == "completed" else 1
    else:
        reached = 1 if "input" in kinds else 0
    is_stopped = status not in (WAITING, PAYING, "completed")
    states = [
        "done" if number < reached else "now" if number == reached else "ahead"
        for number in range(len(STAGES))
    ]
    if is_stopped:
        states = ["stopped" if state == "now" else state for state in states]
    return [{"name": n, "state": s} for n, s in zip(STAGES, states, strict=True)]


def waiting_text(swap: Mapping[str, Any], now: datetime) -> str:
    """Return the name of the text that says what a swap waits for: more than its status does."""
    status = swap["status"]
    deposits, payouts = of_type(swap, "input"), of_type(swap, "output")
    if status == WAITING and deposits:
        if (sum_of(deposits, "amount") or 0) < Decimal(str(swap["requested_amount"])):
            return "part_late" if left_seconds(swap, now) == 0 else "part"
        return status if are_final(deposits) else "confirming"
    if status == PAYING and (payouts or (deposits and are_final(deposits))):
        is_sent = any(one["status"] != "pending" for one in payouts)
        return "payout_sent" if is_sent else "payout_prepared"
    return str(status)


def refund_words(swap: Mapping[str, Any], now: datetime) -> str:
    """Return the case of the refund address; a swap whose time is over is like an expired one."""
    is_late = left_seconds(swap, now) == 0 and not swap["transactions"]
    return "expired" if is_late else str(swap["status"])


def end_words(swap: Mapping[str, Any]) -> str:
    """Return the name of the text about an end: a swap can expire before its payment arrives."""
    is_paid_late = swap["status"] == "expired" and of_type(swap, "input")
    return PAID_LATE if is_paid_late else str(swap["status"])


def has_payout(swap: Mapping[str, Any]) -> bool:
    """Whether the recipient gets, got or may still get the money."""
    if swap["status"] in ("expired", "refunded"):
        return False
    is_sent = any(one["type"] == "output" for one in swap["transactions"])
    return is_sent or swap["status"] not in ("failed", "pending_refund")


def is_refund_shown(swap: Mapping[str, Any], kind: str) -> bool:
    """Return whether the refund address still matters."""
    if kind != "none":
        return True
    if swap["status"] == "completed":
        return False
    is_owed = swap["status"] == "failed" or end_words(swap) == PAID_LATE
    return is_owed or bool(swap["refund_address"])


def timeline(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the moves between statuses, each with how long it lasted."""
    return timeline_of([event for event in events if is_move(event)])


def left_seconds(swap: Mapping[str, Any], now: datetime) -> int | None:
    """Return how long a deposit is waited for; None where none is."""
    if swap["status"] != WAITING:
        return None
    return max(int((to_moment(swap["expires_at"]) - now).total_seconds()), 0)


def explorer_link(transaction: Mapping[str, Any]) -> str | None:
    """Return where a transaction is shown; only addresses of the web are links.

    A development chain has no explorer: its catalogue names one under a reserved domain.
    """
    template, hash = (
        transaction["network"]["transaction_explorer_template"],
        transaction["transaction_hash"],
    )
    return public_link(str(template).replace("{0}", hash)) if hash else None


def public_link(url: str) -> str | None:
    """Return an address of the web as it is; None for any other, and for a reserved domain."""
    if not url.startswith(("https://", "http://")):
        return None
    return None if (urlsplit(url).hostname or "").endswith(RESERVED) else url


def qr_code(text: str) -> Markup:
    """Return a code as an image inside the page: no request more, and no file."""
    made = segno.make(text, error="m", micro=False)
    svg = made.svg_inline(omitsize=True, border=QUIET_ZONE, svgclass="qr", lineclass="qr-dark")
    return Markup(svg)  # drawn from the modules: nothing of the text stands in it


def payment_uri(swap: Mapping[str, Any], now: datetime) -> str | None:
    """Return the URI (EIP-681) that pays; None where a wallet has to send more than it can say."""
    step = swap["next_action"]
    return step["detail"] if action_kind(swap, now) == "address" else None


def has_exact_amount(swap: Mapping[str, Any]) -> bool:
    """Return whether the swap is for an amount, and not for whatever comes."""
    return bool(swap["requested_amount"])


def _is_by_wallet(action: Mapping[str, Any] | None) -> bool:
    return action is not None and action["type"] in BY_WALLET
