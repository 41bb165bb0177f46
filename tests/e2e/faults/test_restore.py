"""The database is restored from a backup: nothing is paid twice, and newer swaps continue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from swap_stack.drill.drill import run_drill
from tests.plugins.stack import Stack

SERVICES = ("notifier", "api", "quoter", "settler", "chain_watcher")


@pytest.mark.fault("P6")
@pytest.mark.slow
async def test_p6_restored_database_pays_no_swap_twice(stack: Stack, tmp_path: Path) -> None:
    # The lost rows are in no ledger, so the next module gets a new stack.
    stack.broken_by = "a database that has forgotten payments"
    output: list[str] = []

    @asynccontextmanager
    async def stopped() -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            for service in SERVICES:
                await held.enter_async_context(stack.hold(service))
            yield

    drill_result = await run_drill(
        stack.description,
        file=tmp_path / "drill.dump",
        stopped=stopped,
        print_step=lambda what, detail: output.append(f"{what}: {detail}"),
    )

    assert drill_result.faults() == [], "\n".join(output)
    assert drill_result.status["recoveries"][0]["ended_by"] == "settler"
