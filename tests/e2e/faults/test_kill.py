"""Fifty swaps of every kind run while a random service is killed every few seconds.

`KILL_SECONDS` is the duration (`make test-kill`: a minute), `KILL_SEED` repeats a sequence of
services.
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

import httpx
import pytest

from tests.e2e import gasless, oracle
from tests.e2e.claims import claims_of
from tests.e2e.idle_stack import wait_until_idle
from tests.e2e.journey import STATUSES
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
from tests.e2e.webhooks import deliveries_upto
from tests.plugins.stack import Stack
from tests.support.waiting import gather_all, until, until_true_here

KILL_SECONDS = float(os.environ.get("KILL_SECONDS", "8"))
SEED = int(os.environ.get("KILL_SEED") or secrets.randbelow(2**32))
SERVICES = ("api", "quoter", "chain_watcher", "settler", "notifier")
PAUSE_SECONDS = (0.5, 3.0)
SWAPS = 50
AT_ONCE = 30  # the others start one by one while services are killed
PATIENCE = 150.0
DEPOSITORY, DIRECT = {"use_depository": True}, {"use_depository": False}
ADDRESS = {"use_depository": False, "use_deposit_address": True}
GASLESS = {"use_depository": False, "use_gasless": True}
WITH_REFUEL = {"use_depository": False, "refuel": True}


class End(StrEnum):
    COMPLETED = "completed"
    REFUNDED = "refunded"
    FAILED = "failed"  # the deposit is claimable, and an operator pays it


STATUSES_UNTIL = {
    End.COMPLETED: STATUSES,
    End.REFUNDED: [*STATUSES[:2], "pending_refund", "refunded"],
    End.FAILED: [*STATUSES[:2], "failed"],
}
# For a different amount another price is requested. While no quoter is up, it is refunded in the
# end.
STATUSES_UNPRICED = [STATUSES[0], "pending_refund", "refunded"]


@dataclass(frozen=True, slots=True)
class Plan:
    """One swap: its funding and its expected end."""

    route: Route
    method: Mapping[str, bool]
    end: End = End.COMPLETED
    part: int | None = None  # a partial deposit of a coin, which needs another quote

    def may_end(self, status: str) -> bool:
        is_unpriced = self.part is not None and status == End.REFUNDED
        return status == self.end or is_unpriced


@dataclass(frozen=True, slots=True)
class EndedSwap:
    """One swap and its actual end."""

    plan: Plan
    swap_id: str
    status: str
    owner: str  # the recipient of a refund

    @property
    def refunded_to(self) -> tuple[str, str, str]:
        return self.plan.route.source_network, self.plan.route.source_token, self.owner

    @property
    def statuses(self) -> list[str]:
        is_unpriced = self.plan.part is not None and self.status == End.REFUNDED
        return STATUSES_UNPRICED if is_unpriced else STATUSES_UNTIL[End(self.status)]


COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.01")
PLANS = (
    Plan(COIN, DEPOSITORY),
    Plan(Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "15"), DIRECT),
    Plan(Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "14"), GASLESS),
    Plan(COIN, ADDRESS),
    Plan(COIN, DIRECT, End.REFUNDED),
    Plan(COIN, DIRECT, part=7 * 10**15),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "USDC", "18"), WITH_REFUEL),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", "45"), GASLESS, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.01"), DIRECT),
    Plan(Route("POLYGON_DEVNET", "POL", "BASE_DEVNET", "DAI", "200"), DEPOSITORY),
    Plan(Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "16"), ADDRESS),
    Plan(COIN, DEPOSITORY, End.FAILED),
    Plan(COIN, ADDRESS, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "DAI", "15"), DEPOSITORY),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", "35"), DEPOSITORY, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "DAI", "POLYGON_DEVNET", "DAI", "22"), GASLESS),  # a permit
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", "36"), DIRECT, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", "37"), ADDRESS, End.REFUNDED),
    Plan(Route("ETHEREUM_DEVNET", "DAI", "BASE_DEVNET", "ETH", "38"), GASLESS, End.REFUNDED),
)


async def kill(stack: Stack, chance: random.Random) -> list[str]:
    """Kill services for the test's duration, each when the one before is up again."""
    loop, killed = asyncio.get_running_loop(), []
    ends_at = loop.time() + KILL_SECONDS
    while loop.time() < ends_at:
        service = chance.choice(SERVICES)
        before = stack.pid(service)
        stack.send(service, signal.SIGKILL)
        killed.append(service)
        await asyncio.sleep(chance.uniform(*PAUSE_SECONDS))
        has_another = partial(is_another, stack, service, before)
        await until_true_here(has_another, what=f"another {service}")
    return killed


def is_another(stack: Stack, service: str, pid: int | None) -> bool:
    return stack.pid(service) not in (pid, None)


async def swap_all(stack: Stack, outside: Outside) -> list[EndedSwap]:
    """Start most swaps at once and the rest over the time of the kills; wait for all."""
    refuses = await contract_that_refuses(outside, COIN.destination_network)

    async def one(number: int, plan: Plan) -> EndedSwap:
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
            await outside.fund(prepared, plan.route, user=number, value=plan.part)
        seen = await outside.follow(swap_id, within=PATIENCE + KILL_SECONDS, every=1)
        if plan.end is End.FAILED:
            await pay_claim(stack, swap_id, owner)
        return EndedSwap(plan, swap_id, seen[-1]["swap"]["status"], owner)

    plans = islice(cycle(PLANS), SWAPS)
    return await gather_all(*(one(number, plan) for number, plan in enumerate(plans)))


async def pay_claim(stack: Stack, swap_id: str, owner: str) -> None:
    """Order the payment of a swap's claim until nothing is left.

    An order is repeated while the settler is down, and while it has no price: without one it would
    need a second operator.
    """

    async def is_ordered() -> bool:
        try:
            claims = await claims_of(stack, swap_id)
            for claim in claims:
                order = {"to_address": owner, "base_units": claim["base_units"]}
                reason = {"by": "ann", "reason": "the owner of the swap asked for it"}
                path = f"/claimable/{claim['id']}/pay"
                await stack.order("settler", path, {**order, **reason})
            return not claims
        except httpx.HTTPError:
            return False  # the service is down, or the order exists and its answer was lost

    await until(is_ordered, what=f"the claim of {swap_id} is ordered", within=PATIENCE, every=0.3)


async def has_refuel(outside: Outside, stack: Stack, one: EndedSwap) -> bool:
    """Return whether a swap with a refuel received it, or shows where its money is."""
    swap = (await outside.partner().read(one.swap_id))["swap"]
    is_sent = "refuel" in {each["type"] for each in swap["transactions"]}
    return is_sent != bool(await claims_of(stack, one.swap_id))


@pytest.mark.each_broker
class TestKill:
    @pytest.mark.timeout(KILL_SECONDS + 2 * PATIENCE)
    async def test_every_swap_ends_as_it_must_and_is_paid_once(self, stack: Stack) -> None:
        print(f"KILL_SECONDS={KILL_SECONDS:g} KILL_SEED={SEED}", file=sys.stderr)  # noqa: T201
        chance = random.Random(SEED)

        async with Outside(stack.description, patience=PATIENCE) as outside:
            for plan in PLANS:
                if plan.method is GASLESS:
                    route = plan.route
                    await gasless.offered_token(outside, route.source_network, route.source_token)
            killing = asyncio.create_task(kill(stack, chance))
            ended = await swap_all(stack, outside)
            killed = await killing
            await wait_until_idle(stack.description)
            returned = [await outside.balance(*one.refunded_to) > 0 for one in ended]
            refuels = [one for one in ended if one.plan.method is WITH_REFUEL]
            assert all([await has_refuel(outside, stack, one) for one in refuels])

        assert killed
        assert [one for one in ended if not one.plan.may_end(one.status)] == []
        ids = [one.swap_id for one in ended]
        assert len(set(ids)) == SWAPS
        paid = await oracle.payments_of(stack.description, *ids)
        assert paid == [int(one.status == End.COMPLETED) for one in ended]
        # A claim is paid to the owner in the same way as a refund.
        assert returned == [one.status in (End.REFUNDED, End.FAILED) for one in ended]
        for one in ended:
            assert one in refuels or await claims_of(stack, one.swap_id) == []
            deliveries = await deliveries_upto(stack.received_file(), one.swap_id, one.statuses)
            assert [each.payload["swap"]["status"] for each in deliveries] == one.statuses
