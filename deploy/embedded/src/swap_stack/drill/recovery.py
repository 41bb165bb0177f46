"""The recovery as operators see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from swap_stack.daemon import StackError
from swap_stack.partners import Operator

PATIENCE_SECONDS: Final = 180.0
POLL_SECONDS: Final = 0.3
RecoveryStatus = Mapping[str, Any]


async def until_ended(operator: Operator, print_step: Callable[[str], None]) -> RecoveryStatus:
    """Print each change of what is proven, and return the last status.

    :raises StackError: when it does not end by itself in time.
    """
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    before = ""
    while asyncio.get_running_loop().time() < deadline:
        status = _read_status(operator)
        if status is not None and (now := describe(status)) != before:
            print_step(now)
            before = now
        if status is not None and status["recoveries"][0]["state"] == "ended":
            return status
        await asyncio.sleep(POLL_SECONDS)
    raise StackError(f"the recovery has not ended: {before or 'none began'}")


def _read_status(operator: Operator) -> RecoveryStatus | None:
    """Return nothing while the settler is away, or has no recovery."""
    try:
        status: RecoveryStatus = operator.run("recovery", "status")
    except StackError:
        return None
    return status if status["recoveries"] else None


def describe(status: RecoveryStatus) -> str:
    """Return in one line what of a recovery is proven."""
    [recovery] = status["recoveries"]
    if recovery["state"] == "ended":
        return f"ended by {recovery['ended_by']}: {recovery['ended_because']}"
    networks, signers = status["networks"], status["signers"]
    read, closed = sum(n["is_read"] for n in networks), sum(s["is_closed"] for s in signers)
    return (
        f"open ({recovery['cause']}), holds {recovery['held']}: {read} of {len(networks)} networks "
        f"read, {closed} of {len(signers)} signers closed, {len(status['forgotten'])} forgotten"
    )
