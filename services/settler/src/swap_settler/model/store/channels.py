"""The channels that wake the settler's loops after a commit."""

from __future__ import annotations

from typing import Final

REQUOTE_DUE: Final = "requote_due"  # the task that requests quotes


def lane_channel(network: str) -> str:
    """Return what wakes the lanes of a network: a payment waits."""
    return f"intent_{network}"
