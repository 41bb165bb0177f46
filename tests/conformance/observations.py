"""Every object in the answers of a deployment, by its name in the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.shapes import fault, objects


@dataclass(frozen=True, slots=True)
class Sample:
    where: str
    instance: Mapping[str, Any]


class Observations:
    def __init__(self) -> None:
        self._samples: dict[str, list[Sample]] = {}
        self.faults: list[str] = []  # data of another kind than that of its endpoint

    def add(self, kind: str, value: Any, where: str) -> None:
        problem = fault(kind, value)
        if problem is not None:
            self.faults.append(f"{where}: {problem}")
        for name, instance, place in objects(kind, value, where):
            self._samples.setdefault(name, []).append(Sample(place, instance))

    def of(self, model: str) -> Sequence[Sample]:
        return self._samples.get(model, ())
