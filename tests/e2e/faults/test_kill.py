"""Fifty swaps are under way while services are killed, whichever, every few seconds.

`KILL_SECONDS` says for how long (`make test-kill`: a minute), `KILL_SEED` which ones, again.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import signal
import sys
from functools import partial
from itertools import cycle, islice

import pytest

from tests.e2e import oracle
from tests.e2e.journey import STATUSES
from tests.e2e.outside import Finished, Outside, Route
from tests.e2e.waiting import until_here
from tests.e2e.webhooks import deliveries_upto
from tests.plugins.stack import Stack

KILL_SECONDS = float(os.environ.get("KILL_SECONDS", "8"))
SEED = int(os.environ.get("KILL_SEED") or secrets.randbelow(2**32))
SERVICES = ("api", "quoter", "chain_watcher", "settler", "notifier")
PAUSE_SECONDS = (0.5, 3.0)
SWAPS = 50
AT_ONCE = 30  # the others come one by one while services die
PATIENCE = 150.0
ROUTES = (
    Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.01"),
    Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "15"),
    Route("ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.01"),
    Route("POLYGON_DEVNET", "POL", "BASE_DEVNET", "DAI", "200"),
    Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "DAI", "15"),
)


async def kill(stack: Stack, chance: random.Random) -> list[str]:
    """Kill services for as long as the test says, each once its predecessor is back."""
    loop, killed = asyncio.get_running_loop(), []
    ends_at = loop.time() + KILL_SECONDS
    while loop.time() < ends_at:
        service = chance.choice(SERVICES)
        before = stack.pid(service)
        stack.send(service, signal.SIGKILL)
        killed.append(service)
        await asyncio.sleep(chance.uniform(*PAUSE_SECONDS))
        has_another = partial(is_another, stack, service, before)
        await until_here(has_another, what=f"another {service}")
    return killed


def is_another(stack: Stack, service: str, pid: int | None) -> bool:
    return stack.pid(service) not in (pid, None)


async def swap_all(stack: Stack, outside: Outside) -> list[Finished]:
    """Begin most swaps at once and the rest over the time of the killing; wait for all."""

    async def one(number: int, route: Route) -> Finished:
        if number >= AT_ONCE:
            await asyncio.sleep(KILL_SECONDS * (number - AT_ONCE) / (SWAPS - AT_ONCE))
        return await outside.swap(route, user=number, within=PATIENCE + KILL_SECONDS, every=1)

    routes = islice(cycle(ROUTES), SWAPS)
    return await asyncio.gather(*(one(number, route) for number, route in enumerate(routes)))


class TestKill:
    @pytest.mark.timeout(KILL_SECONDS + 2 * PATIENCE)
    async def test_every_swap_is_completed_and_paid_once(self, stack: Stack) -> None:
        print(f"KILL_SECONDS={KILL_SECONDS:g} KILL_SEED={SEED}", file=sys.stderr)  # noqa: T201
        chance = random.Random(SEED)

        async with Outside(stack.description, patience=PATIENCE) as outside:
            done, killed = await asyncio.gather(swap_all(stack, outside), kill(stack, chance))

        assert killed
        assert [one.status for one in done] == ["completed"] * SWAPS
        ids = [one.id for one in done]
        assert len(set(ids)) == SWAPS
        assert await oracle.payments_of(stack.description, *ids) == [1] * SWAPS
        for swap_id in ids:
            told = await deliveries_upto(stack.received(), swap_id, STATUSES)
            assert [one.payload["swap"]["status"] for one in told] == STATUSES
