"""The answer to a scrape of a process."""

from __future__ import annotations

from uuid import uuid4

import pytest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST

from swap_runtime.telemetry.build_info import report_build
from swap_runtime.telemetry.metrics import REGISTRY, counter, histogram, render


@pytest.mark.parametrize("accept", ["", CONTENT_TYPE_LATEST])
def test_no_series_is_doubled_by_the_time_of_its_creation(accept: str) -> None:
    name = f"test_{uuid4().hex}"
    counter(name, "of a test").inc()
    histogram(f"{name}_seconds", "of a test", ["route"]).labels("/").observe(1)

    text, _ = render(accept)
    names = {line.split("{")[0].split(" ")[0] for line in text.decode().splitlines()}

    assert {f"swap_{name}_total", f"swap_{name}_seconds_count"} <= names
    assert not [each for each in names if each.endswith("_created")]


def test_a_process_names_the_build_that_it_runs() -> None:
    report_build("v9.9.9", "abc123")

    labels = {"version": "v9.9.9", "revision": "abc123"}
    assert REGISTRY.get_sample_value("swap_build_info", labels) == 1
