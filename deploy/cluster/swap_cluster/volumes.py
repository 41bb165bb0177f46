"""Persistent volumes: folders of this machine, made beforehand and used once."""

from __future__ import annotations

import json
import shutil
from typing import Any

from swap_cluster.kubectl import get, kubectl
from swap_cluster.settings import NODE, VOLUMES, render_template

COUNT = 8


async def provide_volumes() -> None:
    """Make volumes that are free: those that are missing, and those that a claim has left."""
    await kubectl("apply", "--filename=-", text=render_template("storage.yaml"))
    found = {each["metadata"]["name"]: each for each in (await get("persistentvolumes"))["items"]}
    for number in range(COUNT):
        name = f"folder-{number}"
        if name in found and found[name]["status"]["phase"] != "Released":
            continue
        if name in found:
            await kubectl("delete", "persistentvolume", name)
        shutil.rmtree(VOLUMES / name, ignore_errors=True)
        (VOLUMES / name).mkdir(parents=True)
        await kubectl("apply", "--filename=-", text=json.dumps(_volume(name)))


def _volume(name: str) -> dict[str, Any]:
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": "folders",
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": str(VOLUMES / name)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
    }
