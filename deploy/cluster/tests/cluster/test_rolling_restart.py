"""Each service is replaced while swaps run: no request fails, every swap is paid once."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from swap_cluster.deployment import NAMESPACE, is_settled
from swap_cluster.kubectl import kubectl

from deploy.cluster.tests.cluster.lease_watch import LeaseWatch
from deploy.cluster.tests.cluster.traffic import ClosedSwap, Traffic
from deploy.cluster.tests.cluster.visitor import Visitor
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
SERVICES = ("chain-watcher", "quoter", "settler", "notifier", "api", "dashboard")
SECONDS_BETWEEN_SWAPS = 1.0
CALM_SWAPS = 20
SWAPS_BEFORE, SWAPS_AFTER = 3, 5
ROLLOUT_SECONDS = 300


async def restart(service: str) -> None:
    """Replace a service's pods, and wait until the last of the old ones is gone."""
    await kubectl("--namespace", NAMESPACE, "rollout", "restart", f"deployment/{service}")
    await until(lambda: is_settled(service), within=ROLLOUT_SECONDS, every=0.5)


async def all_settled() -> bool:
    """Return whether every service is rolled out, and no pod of an earlier version is left."""
    return all([await is_settled(service) for service in SERVICES])


def assert_paid_once(swaps: list[ClosedSwap]) -> None:
    for swap in swaps:
        assert swap.status == "completed", swap
        assert swap.sent.quoted <= swap.received < swap.sent.quoted * 2, swap


def longest_seconds(swaps: list[ClosedSwap]) -> float:
    return max(swap.seconds for swap in swaps)


async def test_swaps_continue_while_every_service_is_restarted(
    stack: dict[str, Any], traffic: Traffic, visitor: Visitor
) -> None:
    async with traffic.every(SECONDS_BETWEEN_SWAPS):
        await traffic.until_sent(CALM_SWAPS)
    calm = await traffic.close()
    lines = [f"{'nothing':<14} {len(calm):4} swaps, longest {longest_seconds(calm):5.1f} s"]
    watch = LeaseWatch(stack)
    async with watch.watching(), visitor.every(SECONDS_BETWEEN_SWAPS):
        for service in SERVICES:
            known = len(watch.handovers)
            async with traffic.every(SECONDS_BETWEEN_SWAPS):
                await traffic.until_sent(SWAPS_BEFORE)
                await restart(service)
                await traffic.until_sent(SWAPS_AFTER)
            swaps = await traffic.close()
            changed = watch.handovers[known:]
            gap = max((each.seconds for each in changed), default=0.0)
            lines.append(
                f"{service:<14} {len(swaps):4} swaps, longest {longest_seconds(swaps):5.1f} s, "
                f"{len(changed)} leases changed hands, the slowest within {gap:.1f} s"
            )
            calm += swaps
    sys.stdout.write("\n".join(["replaced", *lines, ""]))

    assert traffic.failures == []
    assert visitor.failures == []
    assert_paid_once(calm)
    assert await traffic.without_webhook(calm) == set()
    assert await traffic.violations() == {}
    assert watch.handovers
    assert [each for each in watch.handovers if not each.was_released] == []
