"""The sums of docs/connections-and-sizes.md: the requests and limits of all pods of an overlay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from deploy.k8s.tests.rendered_overlay import ROOT, Object, RenderedOverlay

PAGE: Final = ROOT / "docs/connections-and-sizes.md"
PARTS: Final = {"Cluster": "PostgreSQL", "KafkaNodePool": "Kafka", "Kafka": "Kafka"}
OTHERS: Final = ("valkey", "otel-collector")
MEMORY: Final = {"Mi": 1, "Gi": 1024}


@dataclass(frozen=True, slots=True)
class Amounts:
    """Thousandths of a processor, and MiB."""

    cpu: int = 0
    memory: int = 0

    @classmethod
    def of(cls, quantities: Mapping[str, str]) -> Amounts:
        cpu, memory = str(quantities["cpu"]), quantities["memory"]
        thousandths = int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000
        return cls(thousandths, int(memory[:-2]) * MEMORY[memory[-2:]])

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.cpu + other.cpu, self.memory + other.memory)

    def times(self, number: int) -> Amounts:
        return Amounts(self.cpu * number, self.memory * number)

    def at_least(self, other: Amounts) -> Amounts:
        return Amounts(max(self.cpu, other.cpu), max(self.memory, other.memory))


@dataclass(frozen=True, slots=True)
class Pods:
    """Equal pods, with the requests and limits of one of them."""

    part: str
    fewest: int
    most: int
    requests: Amounts
    limits: Amounts


def pods_of(overlay: RenderedOverlay) -> Iterator[Pods]:
    """Yield the pods that run permanently, without Jobs and operators of the cluster."""
    scaled = {
        each["spec"]["scaleTargetRef"]["name"]: each["spec"]
        for each in overlay.of_kind("ScaledObject")
    }
    for each in overlay.of_kind("Deployment", "StatefulSet"):
        name, spec = each["metadata"]["name"], each["spec"]
        scale = scaled.get(name, {})
        fewest = scale.get("minReplicaCount") or spec["replicas"]
        most = scale.get("maxReplicaCount") or fewest
        pod = spec["template"]["spec"]
        part = "Valkey, collector of traces" if name in OTHERS else "services"
        yield Pods(part, fewest, most, of_pod(pod, "requests"), of_pod(pod, "limits"))
    for each in overlay.of_kind("Cluster", "KafkaNodePool"):
        number = each["spec"].get("instances") or each["spec"]["replicas"]
        resources = each["spec"]["resources"]
        both = (Amounts.of(resources[kind]) for kind in ("requests", "limits"))
        yield Pods(PARTS[each["kind"]], number, number, *both)
    for each in overlay.of_kind("Kafka"):
        operator = each["spec"]["entityOperator"]
        parts = [operator[name]["resources"] for name in ("topicOperator", "userOperator")]
        sums = (
            sum((Amounts.of(part[kind]) for part in parts), Amounts())
            for kind in ("requests", "limits")
        )
        yield Pods(PARTS["Kafka"], 1, 1, *sums)


def of_pod(pod: Object, kind: str) -> Amounts:
    """Return the scheduler's sum: all containers, or the largest init container."""
    total = sum((Amounts.of(each["resources"][kind]) for each in pod["containers"]), Amounts())
    for each in pod.get("initContainers", ()):
        total = total.at_least(Amounts.of(each["resources"][kind]))
    return total


def rows_of(overlay: RenderedOverlay) -> Iterator[str]:
    pods = list(pods_of(overlay))
    named = dict.fromkeys(one.part for one in pods)
    for part in named:
        yield row(overlay.overlay, part, [one for one in pods if one.part == part])
    yield row(overlay.overlay, "**all**", pods)


def row(overlay: str, part: str, pods: list[Pods]) -> str:
    cells = [overlay, part]
    for count in ("fewest", "most"):
        numbers = [(one, getattr(one, count)) for one in pods]
        requests = sum((one.requests.times(n) for one, n in numbers), Amounts())
        limits = sum((one.limits.times(n) for one, n in numbers), Amounts())
        cells.append(str(sum(n for _, n in numbers)))
        cells += [f"{a.cpu / 1000:g} / {a.memory / 1024:.1f}" for a in (requests, limits)]
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("overlay", ["staging", "production"])
def test_sizing_page_has_the_sums_of_the_rendered_overlay(overlay: str) -> None:
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {overlay} |")]

    assert shown == list(rows_of(RenderedOverlay.of(overlay)))
