"""Balances that the ledger holds because they could not be sent, or are unsolicited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.e2e.outside import Outside
from tests.plugins.stack import Stack
from tests.support.waiting import until


async def claims_of(stack: Stack, swap_id: str) -> list[Mapping[str, Any]]:
    answer = await stack.admin("settler", "/claimable")
    return [row for row in answer["claimable"] if row["swap_id"] == swap_id]


async def claim_of(stack: Stack, swap_id: str) -> Mapping[str, Any]:
    """Wait for the only claim of a swap."""
    [claim] = await until(lambda: claims_of(stack, swap_id), what=f"a claim of {swap_id}")
    return claim


async def deposits_in_suspense(stack: Stack) -> list[Mapping[str, Any]]:
    """Return deposits that belong to no swap yet."""
    answer = await stack.admin("settler", "/claimable")
    return [row for row in answer["claimable"] if row["kind"] == "suspense"]


async def has_no_deposit(outside: Outside, swap_id: str) -> bool:
    """Return whether no received value was credited to the swap."""
    swap = (await outside.partner().read(swap_id))["swap"]
    facts = swap["status"], swap["transactions"], swap["quote_locked_at"]
    return facts == ("user_transfer_pending", [], None)
