"""The budgets block a drain of the node: one pod of a service is evicted, the other stays.

There is one node, so an evicted pod cannot be scheduled before the node is uncordoned.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from swap_cluster.deployment import NAMESPACE, is_ready
from swap_cluster.kubectl import get, kubectl, kubectl_command
from swap_cluster.settings import NODE

from deploy.cluster.tests.cluster.lease_watch import LeaseWatch
from deploy.cluster.tests.cluster.test_rolling_restart import (
    ROLLOUT_SECONDS,
    SECONDS_BETWEEN_SWAPS,
    SERVICES,
    SWAPS_AFTER,
    SWAPS_BEFORE,
    all_settled,
    assert_paid_once,
    longest_seconds,
)
from deploy.cluster.tests.cluster.traffic import Traffic
from deploy.cluster.tests.cluster.visitor import Visitor
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
SELECTOR = "app.kubernetes.io/component=service"
NAME = "app.kubernetes.io/name"
REFUSED = "violate the pod's disruption budget"


class Drain:
    """A running `kubectl drain`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[str] = []
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def begin(cls) -> Drain:
        process = await asyncio.create_subprocess_exec(
            *kubectl_command("drain", NODE, f"--pod-selector={SELECTOR}"),
            *("--delete-emptydir-data", f"--timeout={ROLLOUT_SECONDS}s"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        return cls(process)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.lines.append(line.decode())

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    def was_refused(self, pods: set[str]) -> bool:
        """Return whether the eviction of one of these pods was refused."""
        refusals = [line for line in self.lines if REFUSED in line]
        return any(name in line for name in pods for line in refusals)

    async def end(self) -> int:
        """Return its exit status."""
        status = await self._process.wait()
        await self._reading
        return status

    async def kill(self) -> None:
        if not self.has_ended:
            self._process.kill()
        await self.end()


@asynccontextmanager
async def two_pods_each() -> AsyncIterator[None]:
    """Run two pods of each service, and one again afterwards."""
    await scale(2)
    try:
        yield
    finally:
        await kubectl("uncordon", NODE)
        await scale(1)


async def scale(replicas: int) -> None:
    await kubectl(
        *("-n", NAMESPACE, "scale", "deployment", f"--selector={SELECTOR}"),
        f"--replicas={replicas}",
    )
    await until(all_settled, what="pods of each service", within=ROLLOUT_SECONDS, every=0.5)


async def ready_pods() -> dict[str, set[str]]:
    """Return the names of the ready pods, by service."""
    pods = (await get("pods", "-n", NAMESPACE, f"--selector={SELECTOR}"))["items"]
    found: dict[str, set[str]] = {service: set() for service in SERVICES}
    for pod in pods:
        if is_ready(pod):
            found[pod["metadata"]["labels"][NAME]].add(pod["metadata"]["name"])
    return found


async def until_stalled(drain: Drain, first: dict[str, set[str]]) -> None:
    """Return when one pod of each service is left, and its eviction was refused."""

    async def is_stalled() -> bool:
        ready = await ready_pods()
        return all(len(ready[name]) == 1 and drain.was_refused(first[name]) for name in SERVICES)

    await until(is_stalled, what="held up", within=ROLLOUT_SECONDS, every=0.5)


async def drain_under(traffic: Traffic, first: dict[str, set[str]]) -> tuple[float, float]:
    """Drain the node, and uncordon it after the budgets blocked the drain.

    Returns the seconds until it was blocked, and the seconds until it ended.
    """
    started = time.monotonic()
    drain = await Drain.begin()
    try:
        await until_stalled(drain, first)
        stalled_after = time.monotonic() - started
        await traffic.until_sent(SWAPS_AFTER)
        left = await ready_pods()
        assert all(left[name] < first[name] for name in SERVICES)
        assert not drain.has_ended
        await kubectl("uncordon", NODE)
        assert await drain.end() == 0, drain.lines
        return stalled_after, time.monotonic() - started
    finally:
        await drain.kill()


async def test_drain_leaves_a_ready_pod_of_every_service(
    stack: dict[str, Any], traffic: Traffic, visitor: Visitor
) -> None:
    async with two_pods_each():
        first = await ready_pods()
        watch = LeaseWatch(stack)
        async with (
            watch.watching(),
            visitor.every(SECONDS_BETWEEN_SWAPS),
            traffic.every(SECONDS_BETWEEN_SWAPS),
        ):
            await traffic.until_sent(SWAPS_BEFORE)
            stalled_after, ended = await drain_under(traffic, first)
            await until(all_settled, what="replaced", within=ROLLOUT_SECONDS, every=0.5)
            await traffic.until_sent(SWAPS_AFTER)
        swaps = await traffic.close()
        last = await ready_pods()
    sys.stdout.write(
        f"held up after {stalled_after:.1f} s, drained after {ended:.1f} s, {len(swaps)} swaps, "
        f"longest {longest_seconds(swaps):.1f} s, {len(watch.handovers)} leases changed hands\n"
    )

    assert all(not last[name] & first[name] for name in SERVICES)
    assert traffic.failures == []
    assert visitor.failures == []
    assert_paid_once(swaps)
    assert await traffic.without_webhook(swaps) == set()
    assert await traffic.violations() == {}
    assert [each for each in watch.handovers if not each.was_released] == []
