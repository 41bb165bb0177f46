"""The ledger of a swap in the words of its readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

ACCOUNTS: Final[Mapping[str, str]] = {
    "custody": "Held by the service",
    "swap_liability": "Owed for this swap",
    "in_flight": "Payment under way",
    "position": "Exchanged by the service",
    "fee_income": "Fees",
    "partner_fee": "The app's own fee",
    "gas_recovered": "Gas of a refund",
    "refuel_liability": "Refuel owed",
    "refuel_in_flight": "Refuel under way",
    "suspense": "Not assigned to a swap",
    "claimable": "Waits for its owner",
    "loss": "Loss of the service",
}
REASONS: Final[Mapping[str, str]] = {
    "credited": "Deposit credited",
    "credit_reversed": "Deposit reversed",
    "matched": "Deposit assigned",
    "quote_executed": "Quote executed",
    "quote_reversed": "Quote reversed",
    "payout_reserved": "Payout reserved",
    "payout_released": "Payout released",
    "payout_final": "Payout final",
    "partner_fee_earned": "The app's fee earned",
    "returned": "Rest of a deposit set apart",
}
Row = Mapping[str, Any]


def with_names(entries: Sequence[Row], networks: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the entries with names to show beside those of the API.

    :param networks: display names.
    """
    return [
        {
            **entry,
            "name": REASONS.get(entry["reason"]) or _to_words(entry["reason"]),
            "network_name": networks.get(entry["network"], entry["network"]),
            "postings": [
                {
                    **posting,
                    "account_name": ACCOUNTS.get(posting["account"])
                    or _to_words(posting["account"]),
                    "network_name": networks.get(posting["network"], posting["network"]),
                }
                for posting in entry["postings"]
            ],
        }
        for entry in entries
    ]


def _to_words(name: str) -> str:
    return name.replace("_", " ").capitalize()
