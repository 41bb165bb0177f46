"""The collector's configurations in a real collector, which is built from Go modules once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import decompress
from itertools import count
from pathlib import Path
from typing import Final

import httpx
import pytest
import yaml
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator

from tests.observability.receiver import receiving_posts
from tests.plugins.processes import Program, free_port

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = Path(__file__).parent / "collector"
BUILT: Final = ROOT / ".cache/collector/collector"
KUBERNETES: Final = ROOT / "deploy/k8s/components/otel/config.yaml"
COMPOSE: Final = ROOT / "deploy/compose/observability/otel-collector.yml"
IMAGE: Final = ROOT / "deploy/k8s/components/otel/collector.yaml"
AUTHORIZATION: Final = "Bearer of-the-store"
SWAPS: Final = 200


@pytest.fixture(scope="module")
def collector() -> Path:
    """Build the collector: minutes the first time, then only changes."""
    if shutil.which("go") is None:
        pytest.skip("Go is missing: NO collector has read its configuration in this run")
    command = [
        "go",
        "-C",
        str(SOURCE),
        "build",
        "-trimpath",
        "-mod=readonly",
        "-o",
        str(BUILT),
        ".",
    ]
    subprocess.run(command, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    return BUILT


class Numbered(IdGenerator):
    """Sequential ids, so that the sampled share is the same in every run."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def generate_span_id(self) -> int:
        return next(self._numbers)

    def generate_trace_id(self) -> int:
        return next(self._numbers) << 64


class Store:
    """A store of traces: the received spans and their authorization."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[str] = []
        self.authorizations: set[str | None] = set()

    def add(self, body: bytes, authorization: str | None) -> None:
        self.authorizations.add(authorization)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.spans += [span.name for span in scope.spans]


@contextmanager
def storing() -> Iterator[Store]:
    store = Store()
    with receiving_posts(
        lambda body, headers: store.add(decompress(body), headers["authorization"])
    ) as store.url:
        yield store


def environment(store_url: str, percent: int) -> dict[str, str]:
    return {
        "TRACES_ENDPOINT": store_url,
        "TRACES_AUTHORIZATION": AUTHORIZATION,
        "TRACES_SAMPLED_PERCENT": str(percent),
    }


def send_through(collector: Path, store: Store, folder: Path, *, percent: int) -> None:
    """Send one span of each swap through the Kubernetes configuration, on free ports."""
    ports = {name: free_port() for name in ("grpc", "http", "health", "metrics")}
    metrics = {"prometheus": {"host": "127.0.0.1", "port": ports["metrics"]}}
    protocols = {name: {"endpoint": f"127.0.0.1:{ports[name]}"} for name in ("grpc", "http")}
    changed = folder / "ports.yaml"
    document = {
        "receivers": {"otlp": {"protocols": protocols}},
        "extensions": {"health_check": {"endpoint": f"127.0.0.1:{ports['health']}"}},
        "service": {"telemetry": {"metrics": {"readers": [{"pull": {"exporter": metrics}}]}}},
    }
    changed.write_text(yaml.safe_dump(document))

    def is_healthy() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{ports['health']}").is_success
        except httpx.TransportError:
            return False

    program = Program(
        [str(collector), f"--config={KUBERNETES}", f"--config={changed}"],
        log=folder / "collector.log",
        ready=is_healthy,
        environment=environment(store.url, percent),
    )
    program.start()
    try:
        traces = TracerProvider(id_generator=Numbered())
        url = f"http://127.0.0.1:{ports['http']}/v1/traces"
        traces.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(url)))
        tracer = traces.get_tracer("swap")
        for number in range(SWAPS):
            with tracer.start_as_current_span(f"swap {number}"):
                pass
        traces.shutdown()
    finally:
        program.stop()  # it delivers its queue


def test_collector_delivers_every_span_with_the_authorization_of_the_store(
    collector: Path, tmp_path: Path
) -> None:
    with storing() as store:
        send_through(collector, store, tmp_path, percent=100)

    assert sorted(store.spans) == sorted(f"swap {number}" for number in range(SWAPS))
    assert store.authorizations == {AUTHORIZATION}


def test_collector_delivers_the_share_of_traces_that_the_overlay_sets(
    collector: Path, tmp_path: Path
) -> None:
    with storing() as store:
        send_through(collector, store, tmp_path, percent=25)

    assert len(store.spans) == pytest.approx(SWAPS / 4, rel=0.3)  # by a hash of the trace id


def test_collector_accepts_the_configuration_of_compose(collector: Path) -> None:
    command = [str(collector), "validate", f"--config={COMPOSE}"]

    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr


def test_collector_has_the_version_of_the_image() -> None:
    [image] = re.findall(r"opentelemetry-collector:(\S+)", IMAGE.read_text())
    [module] = re.findall(
        r"go\.opentelemetry\.io/collector/otelcol v(\S+)", (SOURCE / "go.mod").read_text()
    )

    assert module == image
