"""The development overlay on the cluster: applied and awaited."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from swap_cluster.images import loaded_tags, remove_other_versions
from swap_cluster.kubectl import get, kubectl
from swap_cluster.settings import PLACES, SOURCE
from swap_stack.daemon import StackError
from swap_stack.files import write_json
from swap_stack.programs import ProgramFailed
from swap_stack.report import Report

OVERLAY = SOURCE / "overlay"
VERSION = PLACES.var / "overlay"
NAMESPACE = "swap-dev"
TIMEOUT_SECONDS = 1200


async def deploy(report: Report) -> None:
    """Apply the overlay with the images that were loaded, and wait until every pod is ready.

    :raises StackError: when they are not in time.
    """
    with report.time_step("apply", PLACES.display_path(OVERLAY)):
        await apply_overlay(loaded_tags())
    with report.time_step("ready"):
        await wait_until_deployed(report)
    await write_addresses()
    await remove_other_versions()


async def apply_overlay(tags: Mapping[str, str]) -> None:
    """Apply the overlay with these versions of the project's images, and wait for nothing."""
    for job in ("release", "chains"):  # a Job cannot be changed
        try:
            await kubectl("--namespace", NAMESPACE, "delete", "job", job, "--ignore-not-found")
        except ProgramFailed:
            break  # there is no namespace yet
    _write_version(tags)
    await kubectl("apply", "--kustomize", str(VERSION))


def _write_version(tags: Mapping[str, str]) -> None:
    """Write an overlay of the overlay, which names the versions of the images."""
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(OVERLAY, VERSION)],
        "images": [{"name": name, "newTag": tag} for name, tag in tags.items()],
    }
    write_json(VERSION / "kustomization.yaml", document)


async def wait_until_deployed(report: Report) -> None:
    """Return once the Job `release` has ended well, and every pod is of the version applied.

    :raises StackError: when they are not in time.
    """
    deadline = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
    shown: set[str] = set()
    while True:
        items = (await get("jobs,deployments,statefulsets", "--namespace", NAMESPACE))["items"]
        ready = {each["metadata"]["name"] for each in items if _is_available(each)}
        for name in sorted(ready - shown):
            report.print_step(name, "ready")
        shown |= ready
        if len(ready) == len(items) > 0:
            return
        if asyncio.get_running_loop().time() > deadline:
            pods = await kubectl("get", "pods", "--namespace", NAMESPACE)
            raise StackError(f"Not every pod is ready after {TIMEOUT_SECONDS} s:\n{pods}")
        await asyncio.sleep(1)


def _is_available(workload: Mapping[str, Any]) -> bool:
    status = workload["status"]
    if workload["kind"] == "Job":
        return bool(status.get("succeeded", 0))
    wanted = workload["spec"]["replicas"]
    is_seen = status.get("observedGeneration") == workload["metadata"]["generation"]
    updated = status.get("updatedReplicas", 0)
    available = status.get("availableReplicas", 0)
    return bool(is_seen and updated == wanted == available == status.get("replicas"))


async def is_settled(deployment: str) -> bool:
    """Return whether a Deployment is rolled out, and no pod of an earlier version is left."""
    found = await get("deployment", deployment, "--namespace", NAMESPACE)
    name = f"app.kubernetes.io/name={deployment}"
    pods = (await get("pods", "--namespace", NAMESPACE, f"--selector={name}"))["items"]
    # The status of a Deployment is behind its pods for a moment.
    ready = [each for each in pods if is_ready(each)]
    return _is_available(found) and len(ready) == len(pods) == found["spec"]["replicas"]


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod is ready, and not about to end."""
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


async def write_addresses() -> None:
    """Write down where each Service is."""
    services = (await get("services", "--namespace", NAMESPACE))["items"]
    addresses = {each["metadata"]["name"]: each["spec"]["clusterIP"] for each in services}
    (PLACES.var / "services.json").write_text(json.dumps(addresses))
