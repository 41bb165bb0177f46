"""Each pod is killed while swaps are in progress: every swap ends, and is paid once."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from swap_cluster.deployment import NAMESPACE, is_ready, is_settled
from swap_cluster.kubectl import get, kubectl
from swap_cluster.parts import ctr

from deploy.cluster.tests.cluster.test_rolling_restart import (
    SERVICES,
    assert_paid_once,
    longest_seconds,
)
from deploy.cluster.tests.cluster.traffic import Traffic
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
SECONDS_BETWEEN_SWAPS = 1.0
RECOVERY_SECONDS = 240
WITH_A_VOLUME = ("postgres", "kafka")


async def restarts(name: str) -> int:
    """Return how often the containers of the pods of this name were restarted."""
    return sum(
        each["restartCount"]
        for pod in await pods_of(name)
        for each in pod["status"].get("containerStatuses", ())
    )


async def pods_of(name: str) -> list[dict[str, Any]]:
    label = f"--selector=app.kubernetes.io/name={name}"
    found: list[dict[str, Any]] = (await get("pods", "-n", NAMESPACE, label))["items"]
    return found


async def kill(name: str) -> None:
    """Kill the processes in the pod of this name.

    Then a pod of a service is deleted, and a new one starts. A pod with a volume stays, and its
    process starts again, as after a crash.
    """
    [pod] = await pods_of(name)
    [container] = pod["status"]["containerStatuses"]
    await ctr("tasks", "kill", "--signal=SIGKILL", container["containerID"].rpartition("/")[2])
    if name not in WITH_A_VOLUME:
        await kubectl("-n", NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--wait=false")


async def is_restarted(name: str, restarts_before: int) -> bool:
    """Return whether one pod is ready, and no other is left.

    For a pod with a volume its own status counts, because the StatefulSet's is late for a moment.
    """
    if name not in WITH_A_VOLUME:
        return await is_settled(name)
    return await restarts(name) > restarts_before and all(map(is_ready, await pods_of(name)))


@pytest.mark.parametrize("name", [*SERVICES, "console", "valkey", "kafka", "postgres"])
async def test_killed_pod_is_restarted_and_every_swap_is_paid_once(
    name: str, traffic: Traffic
) -> None:
    before = [await traffic.send() for _ in range(3)]
    traffic.add(before)
    restarts_before = await restarts(name)
    killed_at = time.monotonic()
    await kill(name)
    await until(lambda: is_restarted(name, restarts_before), within=RECOVERY_SECONDS, every=0.5)
    recovery = time.monotonic() - killed_at
    after = [await traffic.send() for _ in range(2)]
    traffic.add(after)
    swaps = await traffic.close()

    sys.stdout.write(
        f"{name}: ready after {recovery:.1f} s, longest swap {longest_seconds(swaps):.1f} s\n"
    )
    assert len(swaps) == len(before) + len(after)
    assert_paid_once(swaps)
    assert await traffic.without_webhook(swaps) == set()
    assert await traffic.violations() == {}
