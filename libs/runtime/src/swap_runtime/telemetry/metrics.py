"""One registry per process, and the numbers every service has.

A service defines its own in its `observe.py` with `counter`, `gauge` and `histogram`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

# The time of each series' creation is a series more for each, and no rule or dashboard reads it.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY: Final = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)

FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def counter(name: str, documentation: str, labels: Sequence[str] = ()) -> Counter:
    """Define a number that only grows."""
    return Counter(f"swap_{name}", documentation, labels, registry=REGISTRY)


def begin_at_zero(counted: Counter | Histogram, *values: Iterable[str]) -> None:
    """Create the series of all combinations of label values.

    Prometheus computes an increase from two samples: the first event of a series that begins
    with it is in no `increase` or `rate`.

    :param values: of each label, in the order of the labels.
    """
    for combination in product(*values):
        counted.labels(*combination)


def gauge(name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
    """Define a number that goes up and down."""
    return Gauge(f"swap_{name}", documentation, labels, registry=REGISTRY)


def histogram(
    name: str, documentation: str, labels: Sequence[str] = (), buckets: Sequence[float] = FAST
) -> Histogram:
    """Define a distribution, in seconds unless the name has another unit."""
    return Histogram(f"swap_{name}", documentation, labels, buckets=buckets, registry=REGISTRY)


def render(accept: str = "") -> tuple[bytes, str]:
    """Return everything in the form that a scrape accepts, and its media type.

    Only OpenMetrics has exemplars; a request without a type gets the older text.
    """
    encode, media_type = choose_encoder(accept)
    return encode(REGISTRY), media_type
