"""A lane that runs compares its contracts again and again, whatever is found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from swap_chains.errors import ChainMismatch, ChainUnavailable
from swap_settler.paying.usecases.run_lane import RunLane

UNUSED = cast(Any, None)


async def compare(answers: Iterator[Exception | None]) -> None:
    """Compare until every answer was given."""
    done = asyncio.Event()

    async def check_contracts() -> None:
        try:
            answer = next(answers)
        except StopIteration:
            done.set()
            return
        if answer is not None:
            raise answer

    lane = RunLane(
        chain=cast(Any, SimpleNamespace(network="BASE_DEVNET")),
        signer="0x3",
        store=UNUSED,
        send=UNUSED,
        rebroadcast=UNUSED,
        replace=UNUSED,
        close_slots=UNUSED,
        fence=UNUSED,
        buffer_sent_attempts=UNUSED,
        snapshot=UNUSED,
        check_chain=UNUSED,
        check_contracts=check_contracts,
        poll_interval=timedelta(0),
        upkeep_interval=timedelta(0),
        contracts_interval=timedelta(0),
    )
    comparing = asyncio.create_task(lane.compare_contracts())
    waiting = asyncio.create_task(done.wait())
    await asyncio.wait({comparing, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    comparing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await comparing


async def test_comparison_continues_after_a_difference_and_a_failure() -> None:
    findings = ["the Treasury is owned by 0x1, expected 0x2"]
    await compare(
        iter([ChainMismatch("BASE_DEVNET", findings), ChainUnavailable("BASE_DEVNET", []), None])
    )
