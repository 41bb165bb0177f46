"""`overlays/dev` on the cluster: applied and awaited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from swap_cluster.kubectl import get, kubectl
from swap_cluster.settings import PLACES
from swap_stack.daemon import StackError
from swap_stack.places import ROOT
from swap_stack.programs import ProgramFailed
from swap_stack.report import Report

OVERLAY = ROOT / "deploy/k8s/overlays/dev"
NAMESPACE = "swap-dev"
PATIENCE_SECONDS = 1200


async def apply_overlay(report: Report) -> None:
    """Apply the overlay, and wait until every pod is ready.

    :raises StackError: when they are not in time.
    """
    for job in ("release", "chains"):  # a Job cannot be changed
        try:
            await kubectl("--namespace", NAMESPACE, "delete", "job", job, "--ignore-not-found")
        except ProgramFailed:
            break  # there is no namespace yet
    with report.timed("apply", PLACES.shown(OVERLAY)):
        await kubectl("apply", "--kustomize", str(OVERLAY))
    with report.timed("ready"):
        await _until_available(report)
    await write_addresses()


async def _until_available(report: Report) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    shown: set[str] = set()
    while True:
        items = (await get("deployments,statefulsets", "--namespace", NAMESPACE))["items"]
        ready = {each["metadata"]["name"] for each in items if _is_available(each)}
        for name in sorted(ready - shown):
            report.say(name, "ready")
        shown |= ready
        if len(ready) == len(items) > 0:
            return
        if asyncio.get_running_loop().time() > deadline:
            pods = await kubectl("get", "pods", "--namespace", NAMESPACE)
            raise StackError(f"Not every pod is ready after {PATIENCE_SECONDS} s:\n{pods}")
        await asyncio.sleep(1)


def _is_available(workload: Mapping[str, Any]) -> bool:
    status, wanted = workload["status"], workload["spec"]["replicas"]
    is_seen = status.get("observedGeneration") == workload["metadata"]["generation"]
    updated = status.get("updatedReplicas", 0)
    available = status.get("availableReplicas", 0)
    return bool(is_seen and updated == wanted == available == status.get("replicas"))


async def is_settled(deployment: str) -> bool:
    """Tell whether a Deployment is rolled out, and no pod of an earlier version is left."""
    found = await get("deployment", deployment, "--namespace", NAMESPACE)
    name = f"app.kubernetes.io/name={deployment}"
    pods = (await get("pods", "--namespace", NAMESPACE, f"--selector={name}"))["items"]
    # The status of a Deployment is behind its pods for a moment.
    ready = [each for each in pods if _is_ready(each)]
    return _is_available(found) and len(ready) == len(pods) == found["spec"]["replicas"]


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


async def write_addresses() -> None:
    """Write down where each Service is."""
    services = (await get("services", "--namespace", NAMESPACE))["items"]
    addresses = {each["metadata"]["name"]: each["spec"]["clusterIP"] for each in services}
    (PLACES.var / "services.json").write_text(json.dumps(addresses))
