"""What wakes the settler's loops, once whoever says so has committed."""

from __future__ import annotations

from typing import Final

REQUOTE_DUE: Final = "requote_due"  # whoever asks the quoter


def lane_channel(network: str) -> str:
    """Return what wakes the lanes of a network: a payment waits."""
    return f"intent_{network}"
