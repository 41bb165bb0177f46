"""Breaks parts of a running stack in the order of a seed, and measures the time of each recovery.

It also acts as an operator: it resumes a halted network after its nodes are honest.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

from swap_runtime.messaging.topics import ensure_topics
from swap_stack.infrastructure import Part
from swap_stack.processes import Registry, is_alive, send
from tests.e2e.chains import Chain
from tests.e2e.outside import Outside
from tests.plugins.stack import Stack
from tests.soak.faults import (
    FALSE_NODE_KINDS,
    NODES_EACH,
    REORGS,
    SERVICES,
    Fault,
    Kind,
    node_link,
    tracks,
)
from tests.soak.proxies import Proxies
from tests.support.waiting import until

RECOVERED_WITHIN: Final = 90.0
LOOK_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Recovery:
    """The time from a fault's end until every service was ready, while other faults continue."""

    kind: Kind
    target: str
    seconds: float


@dataclass
class FaultLog:
    """The faults of a run and their effects."""

    faults: Counter[Kind] = field(default_factory=Counter)
    recoveries: list[Recovery] = field(default_factory=list)
    resumed: Counter[str] = field(default_factory=Counter)  # networks that a wrong answer halted
    problems: list[str] = field(default_factory=list)


class Nemesis:
    def __init__(
        self,
        stack: Stack,
        proxies: Proxies,
        outside: Outside,
        *,
        seed: int,
        print_step: Callable[[str], None],
    ) -> None:
        self.broken = FaultLog()
        self._stack = stack
        self._proxies = proxies
        self._outside = outside
        self._tracks = tracks(seed)
        self._print_step = print_step
        self._registry = Registry(stack.places.processes_file)

    async def run(self, seconds: float) -> None:
        """Cause faults for a duration; every fault has ended at its return."""
        ends_at = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            for track in self._tracks:
                group.create_task(self._follow(track, ends_at))
        self._proxies.heal()

    async def _follow(self, track: Iterator[Fault], ends_at: float) -> None:
        loop = asyncio.get_running_loop()
        for fault in track:
            await asyncio.sleep(min(fault.pause, max(ends_at - loop.time(), 0)))
            if loop.time() >= ends_at:
                return
            self._print_step(f"{fault.kind}: {fault.target}, {fault.seconds:.1f} s")
            try:
                await self._do(fault)
            except Exception as error:  # the report lists faults that could not be caused
                self.broken.problems.append(f"{fault.kind} of {fault.target} failed: {error!r}")
                continue
            self.broken.faults[fault.kind] += 1
            await self._recover(fault)

    async def _recover(self, fault: Fault) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()

        async def are_ready() -> bool:
            return all(await asyncio.gather(*(self._stack.is_ready(one) for one in SERVICES)))

        try:
            await until(are_ready, what="ready", within=RECOVERED_WITHIN, every=LOOK_SECONDS)
        except AssertionError:
            what = f"not ready {RECOVERED_WITHIN:.0f} s after {fault.kind} of {fault.target}"
            self.broken.problems.append(what)
        self.broken.recoveries.append(Recovery(fault.kind, fault.target, loop.time() - began))

    async def _do(self, fault: Fault) -> None:
        if fault.kind in FALSE_NODE_KINDS:
            await self._use_false_node(fault)
        elif fault.kind in REORGS:
            await self._reorg(fault)
        else:
            await self._orders()[fault.kind](fault)

    def _orders(self) -> Mapping[Kind, Any]:
        return {
            Kind.KILL_SERVICE: self._kill_service,
            Kind.RESTART_SERVICE: self._restart_service,
            Kind.PAUSE_SERVICE: self._pause,
            Kind.PAUSE_BROKER: self._pause,
            Kind.PAUSE_CACHE: self._pause,
            Kind.PAUSE_NODE: self._pause,
            Kind.KILL_BROKER: self._kill_part,
            Kind.KILL_CACHE: self._kill_part,
            Kind.CRASH_DATABASE: self._kill_part,
            Kind.CUT: self._cut,
            Kind.REFUSE: self._break_link,
            Kind.STALL: self._break_link,
            Kind.DELAY: self._break_link,
        }

    # Processes

    async def _kill_service(self, fault: Fault) -> None:
        await self._end_service(fault.target, signal.SIGKILL)

    async def _restart_service(self, fault: Fault) -> None:
        await self._end_service(fault.target, signal.SIGTERM)

    async def _end_service(self, service: str, number: signal.Signals) -> None:
        before = self._stack.pid(service)
        self._stack.send(service, number)

        async def is_another() -> bool:
            return self._stack.pid(service) not in (before, None)

        await until(is_another, what=f"another {service}", every=LOOK_SECONDS)

    async def _pause(self, fault: Fault) -> None:
        name = f"anvil-{fault.target.lower()}" if fault.kind is Kind.PAUSE_NODE else fault.target
        name = f"{name}-0" if fault.kind is Kind.PAUSE_SERVICE else name
        # The stopped process is the one to continue: the name may belong to another one by then.
        records = [one for one in self._registry.list_records() if one.name == name]
        for record in records:
            send(record, signal.SIGSTOP)
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            for record in records:
                send(record, signal.SIGCONT)

    async def _kill_part(self, fault: Fault) -> None:
        part = self._part(fault.target)
        # PostgreSQL's way to crash, because SIGKILL would leave its children running.
        number = signal.SIGQUIT if fault.kind is Kind.CRASH_DATABASE else signal.SIGKILL
        records = [one for one in self._registry.list_records() if one.name == part.name]
        for record in records:
            send(record, number)

        async def is_dead() -> bool:
            return not any(is_alive(record) for record in records)

        await until(is_dead, what=f"{part.name} is dead")
        await asyncio.sleep(fault.seconds)
        await part.start()
        await part.ready()
        if fault.kind is Kind.KILL_BROKER:
            await until(self._has_topics, what="topics", every=LOOK_SECONDS)

    async def _has_topics(self) -> bool:
        """Create the topics that the broker lost, as soon as it can be reached."""
        try:
            await ensure_topics(self._stack.kafka)
        except (KafkaError, OSError):
            return False
        return True

    def _part(self, name: str) -> Part:
        parts = self._proxies.parts
        return {"kafka": parts.broker, "valkey": parts.valkey, "postgres": parts.postgres}[name]

    # Connections

    async def _cut(self, fault: Fault) -> None:
        self._proxies.links[fault.target].cut()

    async def _break_link(self, fault: Fault) -> None:
        link = self._proxies.links[fault.target]
        if fault.kind is Kind.REFUSE:
            link.refuse()
        elif fault.kind is Kind.STALL:
            link.stall()
        else:
            link.delay = fault.delay
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            link.heal()

    async def _use_false_node(self, fault: Fault) -> None:
        false_node = self._proxies.false_nodes[fault.target]
        network = fault.target.split("-")[1]
        false_node.head = await Chain.of(self._stack.description, network).head()
        false_node.kind = fault.kind
        self._proxies.route_to_false_node(fault.target)
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            self._proxies.route_to_node(fault.target)

    # Chains

    async def _reorg(self, fault: Fault) -> None:
        network = self._outside.networks[fault.target]
        chain = Chain.of(self._stack.description, fault.target)
        async with self._wallets_paused(fault.target):
            async with chain.stop_mining():
                mined = await self._mined_transactions(chain, fault.depth)
                is_kept = fault.kind is Kind.REORG
                last = fault.depth - 1
                await chain.reorg(fault.depth, keep=[(raw, last) for _, raw in mined if is_kept])
            if is_kept:
                return
            await asyncio.sleep(fault.seconds)
            # The settler sends its transactions again; a user's wallet does the same.
            users = {user["address"].lower() for user in network["users"]}
            for sender, raw in mined:
                if sender in users:
                    await chain.call("eth_sendRawTransaction", raw)

    @asynccontextmanager
    async def _wallets_paused(self, network: str) -> AsyncIterator[None]:
        """Let no user send a transaction: it would have the nonce of a dropped one."""
        async with AsyncExitStack() as held:
            for number in range(len(self._outside.networks[network]["users"])):
                user = self._outside.user(network, number)
                await held.enter_async_context(user.turn)
            yield

    async def _mined_transactions(self, chain: Chain, depth: int) -> Sequence[tuple[str, str]]:
        """Return sender and bytes of the transactions in the last blocks, in their order."""
        head = await chain.head()
        mined = []
        for number in range(head - depth + 1, head + 1):
            block = await chain.call("eth_getBlockByNumber", hex(number), True)
            for sent in block["transactions"]:
                mined.append((sent["from"].lower(), await chain.raw(sent["hash"])))
        return mined

    # The operator

    async def operate(self) -> None:
        """Resume networks that a wrong answer halted, until cancelled."""
        while True:
            await asyncio.sleep(1)
            try:
                answer = await self._stack.admin("chain_watcher", "/networks")
                for row in answer["networks"]:
                    if row["halted"] and not self._has_false_node(row["network"]):
                        path = f"/networks/{row['network']}/resume"
                        await self._stack.order("chain_watcher", path, {})
                        self.broken.resumed[row["network"]] += 1
                        self._print_step(f"resumed {row['network']}: {row['halted']['reason']}")
                await self._look_at_signers()
            except (httpx.HTTPError, KeyError, ValueError):
                continue  # the service is down, or the resumption was refused

    async def _look_at_signers(self) -> None:
        """Record a halted signer: no fault of this test may cause that."""
        for row in (await self._stack.admin("settler", "/signers"))["signers"]:
            problem = f"the signer of {row['network']} halted: {row['halted']}"
            if row["halted"] and problem not in self.broken.problems:
                self.broken.problems.append(problem)
                self._print_step(problem)

    def _has_false_node(self, network: str) -> bool:
        return any(self._proxies.is_false(node_link(network, n)) for n in range(NODES_EACH))
