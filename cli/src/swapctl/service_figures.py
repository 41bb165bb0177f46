"""Reads the metrics of a service's internal port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from swapctl.admin_client import RequestFailed

TIMEOUT_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """One sample of one metric."""

    labels: Mapping[str, str]
    value: int


def read_figures(url: str, names: Sequence[str]) -> Mapping[str, Sequence[Figure]]:
    """Return the samples of some metrics, rounded down, by the metric's name.

    :param url: of the internal port.
    :raises RequestFailed: when the port does not answer, or its answer is not metrics.
    """
    try:
        answer = httpx.get(f"{url}/metrics", timeout=TIMEOUT_SECONDS).raise_for_status()
    except httpx.HTTPError as error:
        raise RequestFailed(f"{url}/metrics: {type(error).__name__}") from error
    found: dict[str, list[Figure]] = {name: [] for name in names}
    try:
        for family in text_string_to_metric_families(answer.text):
            for sample in family.samples:
                if sample.name in found:
                    found[sample.name].append(Figure(sample.labels, int(sample.value)))
    except ValueError as error:
        raise RequestFailed(f"{url}/metrics does not return metrics: {error}") from error
    return found
