"""One trace per swap, in all messages and log lines about it."""

from __future__ import annotations

from uuid import UUID


def trace_id_of(swap_id: UUID) -> str:
    """Return the trace id of a swap: its id as W3C Trace Context writes it, 32 hex digits.

    It follows from the swap's id, so no service reads a stored one.
    """
    return swap_id.hex
