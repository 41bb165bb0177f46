"""What the demonstration has to show in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from swap_stack.demo.books import AssetSum
from swap_stack.demo.follow import Outcome
from swap_stack.demo.trail import TrailMessage

LABELS = (
    "", "status", "why", "asked for", "sent", "received", "sent back", "fee", "took", "messages",
    "webhooks",
)  # fmt: skip
NATIVE = "0x0000000000000000000000000000000000000000"


def show_outcomes(outcomes: tuple[Outcome, ...], console: Console, *, title: str) -> None:
    """Print one column per swap."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for outcome in outcomes:
        journey = outcome.journey
        table.add_column(
            f"{journey.source_network}\n→ {journey.destination_network}", overflow="fold"
        )
    for label, *cells in zip(LABELS, *(_cells(outcome) for outcome in outcomes), strict=True):
        table.add_row(label, *cells)
    console.print(table)


def _cells(outcome: Outcome) -> tuple[str, ...]:
    journey, swap, quote = outcome.journey, outcome.swap["swap"], outcome.swap["quote"]
    decimals = int(swap["destination_token"]["decimals"])
    verified = sum(delivery.verified for delivery in outcome.deliveries)
    sums = {"input": 0.0, "refund": 0.0}
    for sent in swap["transactions"]:
        sums[sent["type"]] = sums.get(sent["type"], 0.0) + sent["amount"]
    webhooks = f"{len(outcome.deliveries)}, {verified} verified"
    return (
        journey.what_happens,
        outcome.status,
        swap["fail_reason"] or "",
        f"{journey.amount} {journey.source_token}",
        f"{sums['input']:g} {journey.source_token}",
        f"{whole(outcome.received_base_units, decimals)} {journey.destination_token}",
        f"{sums['refund']:.8g} {journey.source_token}" if sums["refund"] else "",
        f"{quote['total_fee']} {journey.source_token}" if outcome.status == "completed" else "",
        f"{outcome.duration.total_seconds():.1f} s",
        str(len(outcome.trail)),
        "" if journey.is_hasty else webhooks,
    )


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


def show_trail(trail: tuple[TrailMessage, ...], console: Console) -> None:
    """Print a swap's messages topic by topic."""
    first = trail[0].created_at
    for topic in dict.fromkeys(message.topic for message in trail):
        console.print(f"\n[bold]{topic}[/]")
        for message in (message for message in trail if message.topic == topic):
            seconds = (message.created_at - first).total_seconds()
            line = f"  {seconds:6.2f}s  {message.source:<14} {message.says}"
            console.print(line, highlight=False)


def list_faults(outcomes: tuple[Outcome, ...], sums: tuple[AssetSum, ...]) -> tuple[str, ...]:
    """Return what should not be; nothing when all went well."""
    faults = [f"{o.journey.title}: {o.status}" for o in outcomes if o.status != o.journey.ending]
    faults += [
        f"{o.journey.title}: a webhook's signature is wrong"
        for o in outcomes
        if not all(delivery.verified for delivery in o.deliveries)
    ]
    faults += [f"{s.token} on {s.network} sums to {s.total}" for s in sums if s.total != 0]
    return tuple(faults)
