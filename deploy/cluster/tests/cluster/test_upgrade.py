"""All services are upgraded at once and rolled back while swaps run: nothing is lost."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from swap_cluster.deployment import apply_overlay, wait_until_deployed
from swap_cluster.images import SERVICES_IMAGE, load_variant, loaded_tags

from deploy.cluster.tests.cluster.lease_watch import LeaseWatch
from deploy.cluster.tests.cluster.test_rolling_restart import (
    ROLLOUT_SECONDS,
    SECONDS_BETWEEN_SWAPS,
    SWAPS_AFTER,
    SWAPS_BEFORE,
    all_settled,
    assert_paid_once,
    longest_seconds,
)
from deploy.cluster.tests.cluster.traffic import Traffic
from deploy.cluster.tests.cluster.visitor import Visitor
from swap_stack.report import Report
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
NEXT = "next"


async def roll_out(version: str) -> float:
    """Apply a version as an operator does; return the seconds until no other version is left."""
    started = time.monotonic()
    await apply_overlay({**loaded_tags(), SERVICES_IMAGE: version})
    await wait_until_deployed(Report())
    await until(all_settled, what="all rolled out", within=ROLLOUT_SECONDS, every=0.5)
    return time.monotonic() - started


async def test_swaps_continue_while_every_service_is_upgraded_and_rolled_back(
    stack: dict[str, Any], traffic: Traffic, visitor: Visitor
) -> None:
    before = loaded_tags()[SERVICES_IMAGE]
    await load_variant(NEXT, {})
    watch = LeaseWatch(stack)
    swaps, lines = [], []
    async with watch.watching(), visitor.every(SECONDS_BETWEEN_SWAPS):
        for version in (NEXT, before):
            known = len(watch.handovers)
            async with traffic.every(SECONDS_BETWEEN_SWAPS):
                await traffic.until_sent(SWAPS_BEFORE)
                seconds = await roll_out(version)
                await traffic.until_sent(SWAPS_AFTER)
            closed = await traffic.close()
            changed = watch.handovers[known:]
            gap = max((each.seconds for each in changed), default=0.0)
            lines.append(
                f"to {version:<14} in {seconds:5.1f} s, {len(closed):4} swaps, "
                f"longest {longest_seconds(closed):5.1f} s, {len(changed)} leases changed hands, "
                f"the slowest within {gap:.1f} s"
            )
            swaps += closed
    sys.stdout.write("\n".join([*lines, f"{visitor.seen} pages seen", ""]))

    assert traffic.failures == []
    assert visitor.failures == []
    assert_paid_once(swaps)
    assert await traffic.without_webhook(swaps) == set()
    assert await traffic.violations() == {}
    assert watch.handovers
    assert [each for each in watch.handovers if not each.was_released] == []
