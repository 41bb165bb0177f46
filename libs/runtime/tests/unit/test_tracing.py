"""Spans, their parents, and that no work waits for a collector."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from uuid import UUID, uuid4

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from libs.runtime.tests.fakes import NOON, NOTES, Note
from swap_contracts.tracing import trace_id_of
from swap_runtime.http.traced_requests import TracedRequests
from swap_runtime.messaging.outbox import Outgoing
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import REGISTRY, histogram, render
from swap_runtime.telemetry.span_export import SpanExport, export_spans
from swap_runtime.telemetry.tracing import Span
from tests.support.otlp import collecting
from tests.support.waiting import PATIENCE_SECONDS, until_true_here

STOP_LIMIT_SECONDS = 60  # if it hangs, the test fails
SWAP, DEPOSIT = UUID(int=7 << 64 | 9), UUID(int=8 << 64 | 10)


class Recorded:
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def record(self, span: Span) -> None:
        self.spans.append(span)

    def of(self, name: str) -> Span:
        [span] = [span for span in self.spans if span.name == name]
        return span


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    recorder = Recorded()
    tracing.use_recorder(recorder)
    yield recorder
    tracing.use_recorder(None)


def outgoing(trace: UUID, thing: str = "a") -> Outgoing:
    return Outgoing.from_body(
        NOTES, Note(thing=thing, version=1), version=1, trace_id=trace_id_of(trace), at=NOON
    )


def test_a_message_about_a_swap_is_a_child_of_the_request_that_created_it(
    recorded: Recorded,
) -> None:
    message = outgoing(SWAP)

    tracing.messages_created([message])

    span = recorded.of("create notes.v1")
    assert span.trace_id == SWAP.int
    assert span.span_id == tracing.message_span_id(message.message_id)
    assert span.parent_id == tracing.request_span_id(SWAP.int)


def test_processing_span_is_a_child_of_its_message_and_the_parent_of_new_ones(
    recorded: Recorded,
) -> None:
    message, later = outgoing(SWAP), outgoing(SWAP, "b")
    envelope = NOTES.envelope.model_validate_json(message.payload)

    with tracing.processing("notes.v1", "test", [envelope]):
        tracing.messages_created([later])

    processed = recorded.of("process notes.v1")
    assert processed.parent_id == tracing.message_span_id(message.message_id)
    assert recorded.of("create notes.v1").parent_id == processed.span_id


def test_a_message_of_another_trace_is_linked_from_the_swaps(recorded: Recorded) -> None:
    seen, changed = outgoing(DEPOSIT), outgoing(SWAP, "b")
    envelope = NOTES.envelope.model_validate_json(seen.payload)

    with tracing.processing("notes.v1", "test", [envelope]):
        tracing.messages_created([changed])

    adopted = next(s for s in recorded.spans if s.trace_id == SWAP.int and s.links)
    assert adopted.parent_id == tracing.request_span_id(SWAP.int)
    assert adopted.links == [(DEPOSIT.int, tracing.message_span_id(seen.message_id))]
    assert recorded.of("create notes.v1").parent_id == adopted.span_id


def test_a_failure_is_recorded_and_raised(recorded: Recorded) -> None:
    envelope = NOTES.envelope.model_validate_json(outgoing(SWAP).payload)

    handled = tracing.processing("notes.v1", "test", [envelope])
    with pytest.raises(ValueError, match="poison"), handled:
        raise ValueError("poison")

    assert recorded.of("process notes.v1").error == "ValueError"


def test_tracing_without_a_recorder_has_no_effect() -> None:
    tracing.messages_created([outgoing(SWAP)])
    with tracing.processing("notes.v1", "test", []), tracing.calling("x", None, {}) as headers:
        assert headers == {}

    assert tracing.exemplar(SWAP) is None


async def _create(_: Request) -> Response:
    tracing.create_swap(SWAP)
    return Response(status_code=201)


async def _read(request: Request) -> Response:
    tracing.join_swap(UUID(request.path_params["id"]))
    return Response()


@pytest.mark.parametrize("trusts_callers", [True, False])
def test_a_request_belongs_to_its_swap(recorded: Recorded, *, trusts_callers: bool) -> None:
    routes = [Route("/swaps", _create, methods=["POST"]), Route("/swaps/{id}", _read)]
    client = TestClient(TracedRequests(Starlette(routes=routes), trusts_callers=trusts_callers))

    client.post("/swaps", headers={"traceparent": f"00-{5:032x}-{6:016x}-01"})
    client.get(f"/swaps/{SWAP}")
    client.get("/livez")

    created, read = recorded.spans
    assert (created.name, created.trace_id, created.parent_id) == ("POST /swaps", SWAP.int, None)
    assert created.span_id == tracing.request_span_id(SWAP.int)
    assert created.links == [(5, 6)]
    assert created.attributes["http.response.status_code"] == 201
    assert (read.name, read.trace_id, read.parent_id) == (
        "GET /swaps/{id}",
        SWAP.int,
        created.span_id,
    )


def test_a_span_of_the_service_is_the_parent_of_its_requests(recorded: Recorded) -> None:
    client = TestClient(TracedRequests(Starlette(), trusts_callers=True))

    client.get("/prices", headers={"traceparent": f"00-{5:032x}-{6:016x}-01"})

    [span] = recorded.spans
    assert (span.name, span.trace_id, span.parent_id) == ("GET", 5, 6)


def test_a_scrape_that_accepts_open_metrics_gets_exemplars(recorded: Recorded) -> None:
    name = f"test_{uuid4().hex}_seconds"
    histogram(name, "of a test").observe(0.2, tracing.exemplar(SWAP))

    text, media_type = render(CONTENT_TYPE_LATEST)
    plain, _ = render()

    assert "openmetrics" in media_type
    assert f'# {{trace_id="{SWAP.hex}"}} 0.2'.encode() in text
    assert SWAP.hex.encode() not in plain


def _span(trace: int, *, span_id: int = 1) -> Span:
    return Span("work", tracing.Kind.INTERNAL, trace, span_id, None, 1, 2, {"a": 1}, [(5, 6)])


async def test_a_collector_gets_spans_with_their_ids() -> None:
    with collecting() as collector:
        export = export_spans("settler", collector.url, ratio=1.0, version="v1")
        export.record(_span(SWAP.int))
        await export.stop()

    [span] = collector.trace(SWAP.hex)
    assert (span.service, span.version) == ("settler", "v1")
    assert (span.name, span.span_id) == ("work", f"{1:016x}")
    assert (span.parent_id, span.began, span.ended) == ("", 1, 2)
    assert span.links == [(f"{5:032x}", f"{6:016x}")]
    assert not tracing.is_on()


async def test_all_services_choose_the_same_share_of_traces() -> None:
    ids = [uuid4() for _ in range(400)]
    with collecting() as collector:
        exports = [
            export_spans(name, collector.url, ratio=0.25, version="v1")
            for name in ("api", "settler")
        ]
        for export in exports:
            for each in ids:
                export.record(_span(each.int))
            await export.stop()

    chosen = [{s.trace_id for s in collector.spans if s.service == n} for n in ("api", "settler")]
    assert chosen[0] == chosen[1]
    assert 40 < len(chosen[0]) < 180


@pytest.fixture(autouse=True)
def exporters_end_with_their_test() -> Iterator[None]:
    """An exporter's thread logs its failures, and CPython 3.11 parses source to log an exception.

    Two threads that parse at a time may raise SystemError (python/cpython#106905): the next test
    that parses would fail.
    """
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.daemon:  # others are those of the loop's executor
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive(), thread.name


class Silent(SpanExporter):
    """An exporter whose collector does not respond before the test ends."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.ended.wait()
        return SpanExportResult.FAILURE


@pytest.fixture
def silent() -> Iterator[Silent]:
    exporter = Silent()
    yield exporter
    exporter.ended.set()


async def test_a_collector_that_does_not_answer_delays_no_work(silent: Silent) -> None:
    """A span that finds the queue full is dropped: no work waits for the collector."""
    before = _dropped("queue full")
    export = SpanExport("settler", silent)
    for number in range(1, 9001):
        export.record(_span(SWAP.int, span_id=number))

    assert _dropped("queue full") > before
    async with asyncio.timeout(STOP_LIMIT_SECONDS):
        await export.stop()


async def test_a_collector_that_is_away_is_counted() -> None:
    before = _dropped("not delivered")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    export: SpanExport = export_spans(
        "settler", f"http://127.0.0.1:{port}", ratio=1.0, version="v1"
    )

    export.record(_span(SWAP.int))

    await until_true_here(lambda: _dropped("not delivered") > before, what="a dropped span")
    await export.stop()


def _dropped(reason: str) -> float:
    return REGISTRY.get_sample_value("swap_spans_dropped_total", {"reason": reason}) or 0
