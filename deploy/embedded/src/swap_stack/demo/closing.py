"""What the demonstration has to show in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from swap_stack.demo.books import AssetSum
from swap_stack.demo.follow import FollowedSwap
from swap_stack.demo.trail import summarize
from swap_stack.wrapping import wrap_text
from swapctl.message_trail import OutboxMessage

# With the width that each has on a terminal of 80 columns.
HEADINGS = {
    "method": 10, "what happens": 9, "ending": 11, "quotes": 6, "sent": 7, "received": 9,
    "sent back": 6, "took": 6, "webhooks": 8,
}  # fmt: skip
WIDE = 110  # columns, from which on nothing has to be folded
DIGITS = 5  # of an amount: after the point, or significant ones of a refund
NATIVE = "0x0000000000000000000000000000000000000000"


def show_outcomes(outcomes: tuple[FollowedSwap, ...], console: Console) -> None:
    """Print one row per swap: how it was funded, and how it ended."""
    title = "Every method, every ending but failed; webhooks with a verified signature"
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=0, show_edge=False)
    for heading, width in HEADINGS.items():
        fixed = width if console.width < WIDE else None
        table.add_column(heading, width=fixed, overflow="fold")
    for outcome in outcomes:
        table.add_row(*_cells(outcome))
    console.print(table, soft_wrap=False)


def _cells(outcome: FollowedSwap) -> tuple[str, ...]:
    journey, swap = outcome.journey, outcome.swap["swap"]
    decimals = int(swap["destination_token"]["decimals"])
    sent, back = (
        sum(one["amount"] for one in outcome.transactions_of(t)) for t in ("input", "refund")
    )
    requested = "" if f"{sent:g}" == journey.amount else f" of {journey.amount}"
    verified = sum(delivery.verified for delivery in outcome.deliveries)
    return (
        journey.method,
        journey.what_happens,
        _ending(swap),
        str(1 + outcome.requotes),
        f"{sent:g}{requested} {journey.source_token}",
        f"{_short(whole(outcome.received_base_units, decimals))} {journey.destination_token}",
        f"{back:.{DIGITS}g} {journey.source_token}" if back else "",
        f"{outcome.duration.total_seconds():.1f} s",
        "" if journey.is_short_lived else str(verified),  # a short-lived app has no webhook
    )


def _ending(swap: Mapping[str, Any]) -> str:
    reason = str(swap["fail_reason"] or "").replace("_", " ")
    return f"{swap['status']}: {reason}" if reason else str(swap["status"])


def _short(amount: str) -> str:
    """Return an amount, cut off and not rounded, with the digits that a table shows."""
    coins, point, rest = amount.partition(".")
    return f"{coins}{point}{rest[:DIGITS]}"


def whole(base_units: int, decimals: int) -> str:
    """Return an amount in whole tokens, exactly."""
    digits = str(base_units).rjust(decimals + 1, "0")
    cut = len(digits) - decimals
    return f"{digits[:cut]}.{digits[cut:]}".rstrip("0").rstrip(".")


def show_books(sums: tuple[AssetSum, ...], stack: Mapping[str, Any], console: Console) -> None:
    """Print one row per asset of the ledger."""
    table = Table(title="Ledger: every asset's postings sum to zero", title_justify="left")
    for heading in ("asset", "postings", "sum"):
        table.add_column(heading)
    symbols = {
        (network["name"], (token["contract"] or NATIVE).lower()): token["symbol"]
        for network in stack["networks"]
        for token in network["tokens"]
    }
    for row in sums:
        symbol = symbols.get((row.network, row.token.lower()), row.token)
        table.add_row(f"{symbol} on {row.network}", str(row.postings), str(row.total))
    console.print(table)


def show_trail(trail: tuple[OutboxMessage, ...], console: Console) -> None:
    """Print a swap's messages topic by topic."""
    first = trail[0].created_at
    for topic in dict.fromkeys(message.topic for message in trail):
        console.print(f"\n[bold]{topic}[/]")
        for message in (message for message in trail if message.topic == topic):
            seconds = (message.created_at - first).total_seconds()
            start = f"  {seconds:6.2f}s  {message.source:<14} "
            line = start + wrap_text(summarize(message), indent=len(start), width=console.width)
            console.print(line, highlight=False)
