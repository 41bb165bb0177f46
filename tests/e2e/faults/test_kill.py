"""Fifty swaps of every kind are under way while services are killed, whichever, every few seconds.

`KILL_SECONDS` says for how long (`make test-kill`: a minute), `KILL_SEED` which ones, again.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import cycle, islice

import pytest

from tests.e2e import gasless, oracle
from tests.e2e.claims import claims_of
from tests.e2e.journey import STATUSES
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
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
DEPOSITORY, DIRECT = {"use_depository": True}, {"use_depository": False}
ADDRESS = {"use_depository": False, "use_deposit_address": True}
GASLESS = {"use_depository": False, "use_gasless": True}


class End(StrEnum):
    COMPLETED = "completed"
    REFUNDED = "refunded"
    FAILED = "failed"  # and what came is claimable


STATUSES_UNTIL = {
    End.COMPLETED: STATUSES,
    End.REFUNDED: [*STATUSES[:2], "pending_refund", "refunded"],
    End.FAILED: [*STATUSES[:2], "failed"],
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One swap: how it is funded, and how it must end."""

    route: Route
    method: Mapping[str, bool]
    end: End = End.COMPLETED


@dataclass(frozen=True, slots=True)
class Ended:
    """One swap and how it did end."""

    plan: Plan
    swap_id: str
    status: str
    owner: str  # to whom a refund goes

    @property
    def refunded_to(self) -> tuple[str, str, str]:
        return self.plan.route.source_network, self.plan.route.source_token, self.owner


COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.01")
PLANS = (
    Plan(COIN, DEPOSITORY),
    Plan(Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "15"), DIRECT),
    Plan(Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "14"), GASLESS),
    Plan(COIN, ADDRESS),
    Plan(COIN, DIRECT, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", "45"), GASLESS, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.01"), DIRECT),
    Plan(Route("POLYGON_DEVNET", "POL", "BASE_DEVNET", "DAI", "200"), DEPOSITORY),
    Plan(Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "16"), ADDRESS),
    Plan(COIN, DEPOSITORY, End.FAILED),
    Plan(COIN, ADDRESS, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "DAI", "15"), DEPOSITORY),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", "35"), DEPOSITORY, End.REFUNDED),
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


async def swap_all(stack: Stack, outside: Outside) -> list[Ended]:
    """Begin most swaps at once and the rest over the time of the killing; wait for all."""
    refuses = await contract_that_refuses(outside, COIN.destination_network)

    async def one(number: int, plan: Plan) -> Ended:
        if number >= AT_ONCE:
            await asyncio.sleep(KILL_SECONDS * (number - AT_ONCE) / (SWAPS - AT_ONCE))
        owner = new_address()
        recipient = new_address() if plan.end is End.COMPLETED else refuses
        more = plan.method if plan.end is End.FAILED else {**plan.method, "refund_address": owner}
        prepared = await outside.partner().create(plan.route, recipient, **more)
        swap_id = str(prepared["swap"]["id"])
        if plan.method is GASLESS:
            signer = outside.user(plan.route.source_network, number)
            await gasless.submit(outside, swap_id, signer, within=PATIENCE)
        else:
            await outside.fund(prepared, plan.route, user=number)
        seen = await outside.follow(swap_id, within=PATIENCE + KILL_SECONDS, every=1)
        return Ended(plan, swap_id, seen[-1]["swap"]["status"], owner)

    plans = islice(cycle(PLANS), SWAPS)
    return await asyncio.gather(*(one(number, plan) for number, plan in enumerate(plans)))


class TestKill:
    @pytest.mark.timeout(KILL_SECONDS + 2 * PATIENCE)
    async def test_every_swap_ends_as_it_must_and_is_paid_once(self, stack: Stack) -> None:
        print(f"KILL_SECONDS={KILL_SECONDS:g} KILL_SEED={SEED}", file=sys.stderr)  # noqa: T201
        chance = random.Random(SEED)

        async with Outside(stack.description, patience=PATIENCE) as outside:
            ended, killed = await asyncio.gather(swap_all(stack, outside), kill(stack, chance))
            returned = [await outside.balance(*one.refunded_to) > 0 for one in ended]

        assert killed
        assert [one.status for one in ended] == [one.plan.end for one in ended]
        ids = [one.swap_id for one in ended]
        assert len(set(ids)) == SWAPS
        paid = await oracle.payments_of(stack.description, *ids)
        assert paid == [int(one.plan.end is End.COMPLETED) for one in ended]
        assert returned == [one.plan.end is End.REFUNDED for one in ended]
        for one in ended:
            assert bool(await claims_of(stack, one.swap_id)) == (one.plan.end is End.FAILED)
            statuses = STATUSES_UNTIL[one.plan.end]
            told = await deliveries_upto(stack.received(), one.swap_id, statuses)
            assert [each.payload["swap"]["status"] for each in told] == statuses
