"""Swaps by real wallets through the public interface: every method, every ending."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, Final

from tests.e2e import gasless
from tests.e2e.faults.test_kill import pay_claim
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
from tests.plugins.stack import OLD_AT_ONCE, Stack

PAUSE_SECONDS: Final = (0.5, 2.5)
PATIENCE: Final = 240.0
FOLLOW_SECONDS: Final = 0.5
USERS: Final = 5
WITH_PERMIT: Final = "DAI"
REFUSING_NETWORK: Final = "BASE_DEVNET"


class Method(StrEnum):
    DEPOSITORY = "depository"
    DIRECT = "direct transfer"
    ADDRESS = "deposit address"
    GASLESS = "gasless"


class Behaviour(StrEnum):
    """A user's behaviour, and the expected end of the swap."""

    PAID = "paid out"
    REFUNDED = "refunded"
    CLAIMED = "claimed"
    LESS = "requoted: less came"
    MORE = "requoted: more came"
    LATE = "requoted: it came late"
    TWICE = "paid out, a second deposit goes back"
    REFUEL = "paid out with a refuel"


OPTIONS: Final[Mapping[Method, Mapping[str, bool]]] = {
    Method.DEPOSITORY: {"use_depository": True},
    Method.DIRECT: {"use_depository": False},
    Method.ADDRESS: {"use_depository": False, "use_deposit_address": True},
    Method.GASLESS: {"use_depository": False, "use_gasless": True},
}
# Routes by method. Swaps with a recipient that refuses use REFUSED, on the network of its contract.
ROUTES: Final[Mapping[Method, tuple[tuple[str, str, str, str, float], ...]]] = {
    Method.DEPOSITORY: (
        ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", 0.01),
        ("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "DAI", 15),
        ("POLYGON_DEVNET", "POL", "BASE_DEVNET", "DAI", 200),
    ),
    Method.DIRECT: (
        ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", 0.01),
        ("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", 15),
        ("ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", 0.01),
        ("BASE_DEVNET", "DAI", "ETHEREUM_DEVNET", "USDC", 20),
    ),
    Method.ADDRESS: (
        ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", 0.01),
        ("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", 16),
    ),
    Method.GASLESS: (
        ("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", 14),
        ("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", 35),
        ("ETHEREUM_DEVNET", "DAI", "POLYGON_DEVNET", "DAI", 22),  # a permit
    ),
}
REFUSED: Final[Mapping[Method, tuple[str, str, str, str, float]]] = {
    Method.DEPOSITORY: ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", 0.01),
    Method.DIRECT: ("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", 36),
    Method.ADDRESS: ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", 0.01),
    Method.GASLESS: ("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", 45),
}
COIN: Final = ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", 0.01)
TO_REFUEL: Final = ("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "USDC", 18)
LATE: Final = (*OLD_AT_ONCE, 20)
WANTED: Final = (
    *([Behaviour.PAID] * 6), Behaviour.REFUNDED, Behaviour.REFUNDED, Behaviour.CLAIMED,
    Behaviour.LESS, Behaviour.MORE, Behaviour.LATE, Behaviour.TWICE, Behaviour.REFUEL,
)  # fmt: skip
SHARE: Final = {Behaviour.LESS: 7 * 10**15, Behaviour.MORE: 13 * 10**15}  # of the ten of COIN
EXCESS: Final = 3 * 10**15
# The allowed ends of a swap. A deposit without a price in time is refunded.
ENDINGS: Final[Mapping[Behaviour, tuple[str, ...]]] = {
    Behaviour.PAID: ("completed",),
    Behaviour.REFUEL: ("completed",),
    Behaviour.TWICE: ("completed",),
    Behaviour.REFUNDED: ("refunded",),
    Behaviour.CLAIMED: ("failed",),
    Behaviour.LESS: ("completed", "refunded"),
    Behaviour.MORE: ("completed", "refunded"),
    Behaviour.LATE: ("completed", "refunded"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One swap that a user makes."""

    number: int
    pause: float  # after the plan before
    method: Method
    wanted: Behaviour
    route: Route


@dataclass(frozen=True, slots=True)
class EndedSwap:
    plan: Plan
    swap_id: str
    recipient: str
    owner: str  # the recipient of a refund or a claim
    status: str
    last: Mapping[str, Any]

    @property
    def is_as_planned(self) -> bool:
        return self.status in ENDINGS[self.plan.wanted]


@dataclass
class SwapRun:
    """The results of the traffic."""

    started: int = 0
    ended: list[EndedSwap] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plans(seed: int) -> Iterator[Plan]:
    """Return the endless sequence of a seed's swaps."""
    random = Random(f"{seed}/traffic")
    number = 0
    while True:
        wanted = random.choice(WANTED)
        method = _method(random, wanted)
        source, token, destination, token_out, amount = _ends(random, method, wanted)
        route = Route(source, token, destination, token_out, f"{amount:g}")
        yield Plan(number, random.uniform(*PAUSE_SECONDS), method, wanted, route)
        number += 1


def _method(random: Random, wanted: Behaviour) -> Method:
    if wanted in (
        Behaviour.LESS,
        Behaviour.MORE,
        Behaviour.LATE,
        Behaviour.TWICE,
        Behaviour.REFUEL,
    ):
        return Method.DIRECT
    if wanted is Behaviour.CLAIMED:
        # A signer has an address, which receives the refund.
        return random.choice([method for method in Method if method is not Method.GASLESS])
    return random.choice(list(Method))


def _ends(random: Random, method: Method, wanted: Behaviour) -> tuple[str, str, str, str, float]:
    chosen = random.choice(ROUTES[method])
    if wanted in (Behaviour.REFUNDED, Behaviour.CLAIMED):
        return REFUSED[method]
    if wanted in (Behaviour.LESS, Behaviour.MORE, Behaviour.TWICE):
        return COIN
    if wanted is Behaviour.LATE:
        return LATE
    return TO_REFUEL if wanted is Behaviour.REFUEL else chosen


class Traffic:
    def __init__(
        self, stack: Stack, outside: Outside, *, seed: int, print_step: Callable[[str], None]
    ) -> None:
        self.swapped = SwapRun()
        self._stack = stack
        self._outside = outside
        self._plans = plans(seed)
        self._print_step = print_step
        self._refuses = ""
        # A permit uses a nonce of the token, so a user's next one is valid only after it.
        self._permits: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def prepare(self) -> None:
        """Prepare the accounts of every swap before the first fault."""
        self._refuses = await contract_that_refuses(self._outside, REFUSING_NETWORK)
        signed = {route[:2] for route in (*ROUTES[Method.GASLESS], REFUSED[Method.GASLESS])}
        for network, token in sorted(signed):
            await gasless.offered_token(self._outside, network, token)

    async def run(self, seconds: float) -> None:
        """Start swaps for a duration, and follow each to its end."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        async with asyncio.TaskGroup() as group:
            for plan in self._plans:
                await asyncio.sleep(plan.pause)
                if loop.time() >= ends_at:
                    break
                self.swapped.started += 1
                group.create_task(self._try(plan))

    async def _try(self, plan: Plan) -> None:
        try:
            async with asyncio.timeout(2 * PATIENCE):
                ended = await self._swap(plan)
        except Exception as error:  # the report lists every failure
            problem = f"swap {plan.number} ({plan.method}, {plan.wanted}): {error!r}"
            self.swapped.problems.append(problem)
            self._print_step(problem)
            return
        self.swapped.ended.append(ended)

    async def _swap(self, plan: Plan) -> EndedSwap:
        owner = new_address()
        is_refused = plan.wanted in (Behaviour.REFUNDED, Behaviour.CLAIMED)
        recipient = self._refuses if is_refused else new_address()
        options: dict[str, object] = dict(OPTIONS[plan.method])
        if plan.wanted is not Behaviour.CLAIMED:
            options["refund_address"] = owner
        if plan.wanted is Behaviour.REFUEL:
            options["refuel"] = True
        prepared = await self._outside.partner().create(plan.route, recipient, **options)
        swap_id = str(prepared["swap"]["id"])
        if plan.method is Method.GASLESS:
            last = await self._sign(plan, swap_id)
        else:
            last = await self._send(plan, prepared)
        if plan.wanted is Behaviour.CLAIMED:
            await pay_claim(self._stack, swap_id, owner)
        return EndedSwap(plan, swap_id, recipient, owner, str(last["swap"]["status"]), last)

    async def _sign(self, plan: Plan, swap_id: str) -> Mapping[str, Any]:
        user = plan.number % USERS
        signer = self._outside.user(plan.route.source_network, user)
        if plan.route.source_token != WITH_PERMIT:
            await gasless.submit(self._outside, swap_id, signer, within=PATIENCE)
            return await self._follow(swap_id)
        async with self._permits[user]:
            await gasless.submit(self._outside, swap_id, signer, within=PATIENCE)
            return await self._follow(swap_id)

    async def _send(self, plan: Plan, prepared: Mapping[str, Any]) -> Mapping[str, Any]:
        if plan.wanted is Behaviour.LATE:
            await asyncio.sleep(2)
        value = SHARE.get(plan.wanted)
        await self._outside.fund(prepared, plan.route, user=plan.number, value=value)
        last = await self._follow(str(prepared["swap"]["id"]))
        if plan.wanted is Behaviour.TWICE:
            await self._outside.fund(prepared, plan.route, user=plan.number)
        return last

    async def _follow(self, swap_id: str) -> Mapping[str, Any]:
        seen = await self._outside.follow(swap_id, within=PATIENCE, every=FOLLOW_SECONDS)
        return seen[-1]
