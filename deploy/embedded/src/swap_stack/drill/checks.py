"""Checks at the end of a drill: each payment was made once, and the invariants hold."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from swap_stack.daemon import StackError
from swap_stack.drill.payments import count_of, read_payments
from swap_stack.places import Places
from swap_stack.programs import ProgramFailed, run_to_end
from swap_stack.swaps import PlannedSwap, Swaps


async def require_paid_once(
    stack: Mapping[str, Any], swaps: Swaps, planned: Sequence[PlannedSwap]
) -> None:
    """
    :raises StackError: with each payment id that was paid twice. It also names each planned swap
        that is not completed, or with a main leg that was not paid exactly once.
    """
    paid = await read_payments(stack)
    faults = [f"id {number} was paid {n} times" for number, n in paid.items() if n > 1]
    for one in planned:
        status = await swaps.status(one)
        count = count_of(paid, swaps.id_of(one))
        if (status, count) != ("completed", 1):
            faults.append(f"{one.name}: {status}, paid {count} times")
    if faults:
        raise StackError("\n".join(faults))


async def require_invariants(places: Places) -> None:
    """
    :raises StackError: with the invariants that are violated.
    """
    command = [sys.executable, "-m", "swapctl", "--stack", str(places.stack_file), "invariants"]
    queries = places.root / "deploy/postgres/invariants/queries.sql"
    try:
        await run_to_end([*command, "--queries", str(queries)])
    except ProgramFailed as error:
        raise StackError(f"invariants are violated:\n{error}") from error
