"""What is wrong with a new version stops its rollout: the old pods go on, and so do swaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from swap_cluster.deployment import NAMESPACE, is_settled
from swap_cluster.kubectl import get, kubectl

from deploy.cluster.tests.cluster.test_rolling_restart import assert_paid_once
from deploy.cluster.tests.cluster.traffic import Traffic
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
OTHER_TREASURY = "0x" + "11" * 20
PATIENCE_SECONDS = 120


async def reasons(deployment: str) -> set[str]:
    """Return why containers of a Deployment wait, or how they ended."""
    label = f"--selector=app.kubernetes.io/name={deployment}"
    found = set()
    for pod in (await get("pods", "-n", NAMESPACE, label))["items"]:
        status = pod["status"]
        for kind in ("initContainerStatuses", "containerStatuses"):
            for container in status.get(kind, ()):
                found.add(_reason(container))
    return found - {""}


def _reason(container: Mapping[str, Any]) -> str:
    state = container["state"]
    why = state.get("waiting") or state.get("terminated") or {}
    return f"{container['name']}: {why['reason']}" if "reason" in why else ""


async def assert_swaps_go_on(traffic: Traffic, deployment: str) -> None:
    found = await get("deployment", deployment, "-n", NAMESPACE)
    assert found["status"]["availableReplicas"] == found["spec"]["replicas"]
    traffic.add([await traffic.send()])
    assert_paid_once(await traffic.close())


async def undo(deployment: str) -> None:
    await kubectl("-n", NAMESPACE, "rollout", "undo", f"deployment/{deployment}")
    await until(lambda: is_settled(deployment), within=PATIENCE_SECONDS, every=0.5)


async def test_an_image_that_does_not_exist(traffic: Traffic) -> None:
    await kubectl("-n", NAMESPACE, "set", "image", "deployment/quoter", "service=swap:absent")
    try:

        async def cannot_pull() -> bool:
            pulling = {"service: ErrImagePull", "service: ImagePullBackOff"}
            return bool(await reasons("quoter") & pulling)

        await until(cannot_pull, within=PATIENCE_SECONDS, every=0.5)
        await assert_swaps_go_on(traffic, "quoter")
    finally:
        await undo("quoter")


async def test_a_catalogue_that_the_chains_contradict(traffic: Traffic) -> None:
    name = ("configmap", "catalogue", "-n", NAMESPACE)
    right = (await get(*name))["data"]["catalogue.yaml"]
    wrong = yaml.safe_load(right)
    wrong["networks"][0]["contracts"]["treasury"] = OTHER_TREASURY
    await set_catalogue(yaml.safe_dump(wrong, sort_keys=False))
    await kubectl("-n", NAMESPACE, "rollout", "restart", "deployment/api")
    try:

        async def is_refused() -> bool:
            failed = {"contracts: Error", "contracts: CrashLoopBackOff"}
            return bool(await reasons("api") & failed)

        await until(is_refused, within=PATIENCE_SECONDS, every=0.5)
        await assert_swaps_go_on(traffic, "api")
    finally:
        await set_catalogue(right)
        await undo("api")


async def set_catalogue(text: str) -> None:
    patch = yaml.safe_dump({"data": {"catalogue.yaml": text}})
    await kubectl("-n", NAMESPACE, "patch", "configmap", "catalogue", "--patch", patch)
