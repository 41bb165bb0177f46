"""The output of Kustomize for an overlay, for tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
OVERLAYS = ("dev", "staging", "production")
ON_KAFKA = ("api", "quoter", "chain-watcher", "settler", "notifier")
SERVICES = (*ON_KAFKA, "dashboard")
READS_CHAINS = ("api", "quoter", "chain-watcher", "settler")
WORKLOADS = ("Deployment", "StatefulSet", "Job")
NAME = "app.kubernetes.io/name"
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RenderedOverlay:
    """The objects of one overlay."""

    overlay: str
    objects: tuple[Object, ...]

    @classmethod
    @cache
    def of(cls, overlay: str) -> RenderedOverlay:
        kubectl = Path(sys.executable).with_name("kubectl")
        done = subprocess.run(
            [kubectl, "kustomize", ROOT / "deploy/k8s/overlays" / overlay],
            capture_output=True,
            check=True,
            text=True,
        )
        assert done.stderr == ""  # no deprecated field
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return cls(overlay, tuple(yaml.load_all(done.stdout, Loader=loader)))

    def of_kind(self, *kinds: str) -> Iterator[Object]:
        return (each for each in self.objects if each["kind"] in kinds)

    def get(self, kind: str, name: str) -> Object:
        """Return the only object with a name; generated names end with a hash."""
        [found] = [
            each
            for each in self.of_kind(kind)
            if each["metadata"]["name"] == name
            or (
                kind in ("ConfigMap", "Secret")
                and each["metadata"]["name"].rpartition("-")[0] == name
            )
        ]
        return found

    def get_exactly(self, kind: str, name: str) -> Object:
        [found] = [each for each in self.of_kind(kind) if each["metadata"]["name"] == name]
        return found

    def services(self) -> Iterator[Object]:
        """Yield the Deployments of the six services."""
        return (self.get("Deployment", name) for name in SERVICES)

    def workloads(self) -> Iterator[Object]:
        return self.of_kind(*WORKLOADS)

    def policies_for(self, labels: Mapping[str, str]) -> Iterator[Object]:
        """Yield the NetworkPolicies that select a pod by its labels, not those that select all."""
        for policy in self.of_kind("NetworkPolicy"):
            selector = policy["spec"]["podSelector"].get("matchLabels", {})
            if selector and selector.items() <= labels.items():
                yield policy


def pod_of(workload: Object) -> Object:
    pod: Object = workload["spec"]["template"]["spec"]
    return pod


def labels_of(workload: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = workload["spec"]["template"]["metadata"]["labels"]
    return labels


def containers_of(workload: Object) -> list[Object]:
    pod = pod_of(workload)
    return [*pod.get("initContainers", []), *pod["containers"]]


def full_name(one: Object) -> str:
    return f"{one['kind']}/{one['metadata']['name']}"
