"""The delay of a detection leads to the trace of its movement."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from watch_factories import Watcher, a_deposit

from swap_chain_watcher import observe
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import render
from swap_runtime.telemetry.tracing import Span


class NoSpans:
    """Turns tracing on, and exports nothing."""

    def record(self, span: Span) -> None:
        pass


@pytest.fixture
def traced() -> Iterator[None]:
    tracing.use_recorder(NoSpans())
    yield
    tracing.use_recorder(None)


def test_a_detection_has_the_trace_of_its_movement_as_exemplar(traced: None) -> None:
    step = Watcher().mines(a_deposit("one"))
    [seen] = step.new_movements

    observe.movements_stored(step, at=seen.movement.block.time + timedelta(seconds=2))

    text, _ = render(CONTENT_TYPE_LATEST)
    [line] = [one for one in text.decode().splitlines() if seen.movement.id.hex in one]
    assert line.startswith("swap_watch_detection_delay_seconds_bucket")
