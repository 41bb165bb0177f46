"""A faulty new version stops its rollout: the old pods and swaps continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from swap_cluster.deployment import (
    NAMESPACE,
    apply_overlay,
    is_ready,
    is_settled,
    wait_until_deployed,
)
from swap_cluster.images import SERVICES_IMAGE, load_variant, loaded_tags
from swap_cluster.kubectl import get, kubectl

from deploy.cluster.tests.cluster.test_rolling_restart import assert_paid_once
from deploy.cluster.tests.cluster.traffic import Traffic
from swap_stack.places import ROOT
from swap_stack.report import Report
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
OTHER_TREASURY = "0x" + "11" * 20
TIMEOUT_SECONDS = 120


async def wait_reasons(deployment: str) -> set[str]:
    """Return why containers of a Deployment are waiting, or how they ended."""
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


async def assert_swaps_continue(traffic: Traffic, deployment: str) -> None:
    found = await get("deployment", deployment, "-n", NAMESPACE)
    assert found["status"]["availableReplicas"] == found["spec"]["replicas"]
    traffic.add([await traffic.send()])
    assert_paid_once(await traffic.close())


async def undo_rollout(deployment: str) -> None:
    await kubectl("-n", NAMESPACE, "rollout", "undo", f"deployment/{deployment}")
    await until(lambda: is_settled(deployment), within=TIMEOUT_SECONDS, every=0.5)


async def test_swaps_continue_while_an_image_cannot_be_pulled(traffic: Traffic) -> None:
    await kubectl("-n", NAMESPACE, "set", "image", "deployment/quoter", "service=swap:absent")
    try:

        async def cannot_pull() -> bool:
            pulling = {"service: ErrImagePull", "service: ImagePullBackOff"}
            return bool(await wait_reasons("quoter") & pulling)

        await until(cannot_pull, within=TIMEOUT_SECONDS, every=0.5)
        await assert_swaps_continue(traffic, "quoter")
    finally:
        await undo_rollout("quoter")


FAILING = "services/quoter/migrations/versions/9999_fails.py"
MIGRATION = """\
from alembic import op

revision = "9999"
down_revision = "{last}"


def upgrade() -> None:
    op.execute("SELECT 1 / 0")
"""


async def names_of(deployment: str) -> set[str]:
    """Return the names of the ready pods of a Deployment."""
    label = f"--selector=app.kubernetes.io/name={deployment}"
    pods = (await get("pods", "-n", NAMESPACE, label))["items"]
    return {pod["metadata"]["name"] for pod in pods if is_ready(pod)}


async def test_swaps_continue_while_a_migration_fails(traffic: Traffic) -> None:
    """The release stops there: the service's new pods wait, and the old ones continue."""
    await load_variant("broken", {FAILING: MIGRATION.format(last=last_revision("quoter"))})
    old = await names_of("quoter")
    await apply_overlay({**loaded_tags(), SERVICES_IMAGE: "broken"})
    try:

        async def has_failed() -> bool:
            failed = {"migrations: Error", "migrations: CrashLoopBackOff"}
            return bool(await wait_reasons("release") & failed)

        async def new_one_waits() -> bool:
            label = "--selector=app.kubernetes.io/name=quoter"
            pods = (await get("pods", "-n", NAMESPACE, label))["items"]
            return any(is_migrating(each) for each in pods if each["metadata"]["name"] not in old)

        await until(has_failed, what="a failed step", within=TIMEOUT_SECONDS, every=0.5)
        await until(new_one_waits, what="a pod that waits", within=TIMEOUT_SECONDS, every=0.5)
        await assert_swaps_continue(traffic, "quoter")
        assert await names_of("quoter") == old
    finally:
        await apply_overlay(loaded_tags())
        await wait_until_deployed(Report())

    await assert_swaps_continue(traffic, "quoter")
    assert await names_of("quoter") == old
    assert await traffic.violations() == {}


def last_revision(service: str) -> str:
    """Return the last revision of a service's migrations."""
    files = sorted((ROOT / "services" / service / "migrations/versions").glob("*.py"))
    return files[-1].name.partition("_")[0]


def is_migrating(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod's first step waits until its schema is migrated."""
    steps = {each["name"]: each for each in pod["status"].get("initContainerStatuses", ())}
    return "migrations" in steps and "running" in steps["migrations"]["state"]


async def test_swaps_continue_while_a_release_has_a_wrong_catalogue(traffic: Traffic) -> None:
    name = ("configmap", "catalogue", "-n", NAMESPACE)
    right = (await get(*name))["data"]["catalogue.yaml"]
    wrong = yaml.safe_load(right)
    wrong["networks"][0]["contracts"]["treasury"] = OTHER_TREASURY
    await set_catalogue(yaml.safe_dump(wrong, sort_keys=False))
    await kubectl("-n", NAMESPACE, "rollout", "restart", "deployment/api")
    try:

        async def is_refused() -> bool:
            failed = {"contracts: Error", "contracts: CrashLoopBackOff"}
            return bool(await wait_reasons("api") & failed)

        await until(is_refused, within=TIMEOUT_SECONDS, every=0.5)
        await assert_swaps_continue(traffic, "api")
    finally:
        await set_catalogue(right)
        await undo_rollout("api")


async def set_catalogue(text: str) -> None:
    patch = yaml.safe_dump({"data": {"catalogue.yaml": text}})
    await kubectl("-n", NAMESPACE, "patch", "configmap", "catalogue", "--patch", patch)
