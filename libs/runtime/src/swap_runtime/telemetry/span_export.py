"""Sends spans to an OpenTelemetry collector, from a separate thread.

Nothing waits for it: spans that do not fit into its queue, and spans of a request that failed, are
dropped and counted.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from swap_runtime.telemetry.metrics import begin_at_zero, counter
from swap_runtime.telemetry.tracing import Span, new_span_id, use_recorder

QUEUE_MAX: Final = 8192  # spans
BATCH_MAX: Final = 512  # spans of one request
BATCH_PAUSE_MS: Final = 1000
TIMEOUT_SECONDS: Final = 5  # of one batch, with its retries
STOP_SECONDS: Final = 2
# A swap's id is random in its last 56 bits, not in those before.
RANDOM_BITS: Final = 2**56

EXPORTED: Final = counter("spans_exported", "Spans that the collector took")
NOT_DELIVERED: Final = "not delivered"
QUEUE_FULL: Final = "queue full"
# Alert: grows for long. Traces have gaps while it grows; nothing else does.
DROPPED: Final = counter("spans_dropped", "Spans that were not delivered, by reason", ["reason"])
begin_at_zero(DROPPED, (NOT_DELIVERED, QUEUE_FULL))


class GivenIds(IdGenerator):
    """Gives the next span the ids that it has already."""

    def __init__(self) -> None:
        self.trace_id = 0
        self.span_id = 0

    def generate_span_id(self) -> int:
        """Return the id that was set; the SDK calls this once per span."""
        return self.span_id or new_span_id()

    def generate_trace_id(self) -> int:
        """Return the trace that was set: called for a span without a parent."""
        return self.trace_id


class CountedExporter(SpanExporter):
    """Another exporter, with its results counted."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.finished = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Deliver a batch, in the exporter's thread."""
        result = self._exporter.export(spans)
        self.finished += len(spans)
        if result is SpanExportResult.SUCCESS:
            EXPORTED.inc(len(spans))
        else:
            DROPPED.labels(NOT_DELIVERED).inc(len(spans))
        return result

    def shutdown(self) -> None:
        """End a request that is being repeated."""
        self._exporter.shutdown()


class BoundedProcessor(SpanProcessor):
    """Hands spans to the exporter's thread, up to a bound."""

    def __init__(self, exporter: SpanExporter, *, queue_max: int = QUEUE_MAX) -> None:
        self._exporter = CountedExporter(exporter)
        self._queue_max = queue_max
        self._accepted = 0
        self._batches = BatchSpanProcessor(
            self._exporter,
            max_queue_size=queue_max,
            schedule_delay_millis=BATCH_PAUSE_MS,
            max_export_batch_size=min(BATCH_MAX, queue_max),
        )

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span, or drop it while too many wait."""
        if self._accepted - self._exporter.finished >= self._queue_max:
            DROPPED.labels(QUEUE_FULL).inc()
            return
        self._accepted += 1
        self._batches.on_end(span)

    def shutdown(self) -> None:
        """Deliver what waits. It blocks its thread, for half a minute at most."""
        self._batches.shutdown()  # type: ignore[no-untyped-call]


class SpanExport:
    """The recorder of a process that sends spans to a collector."""

    def __init__(
        self, service: str, exporter: SpanExporter, *, ratio: float = 1.0, version: str = ""
    ) -> None:
        """
        :param ratio: the share of traces that is sent, 0 to 1; all services choose the same ones.
        """
        self._ids = GivenIds()
        self._limit = int(ratio * RANDOM_BITS)
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,  # what is left out was left out before
            id_generator=self._ids,
            resource=Resource.create({"service.name": service, "service.version": version}),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(BoundedProcessor(exporter))
        self._tracer = self._provider.get_tracer("swap")

    def record(self, span: Span) -> None:
        """Queue a span that ended."""
        if span.trace_id % RANDOM_BITS >= self._limit:
            return
        self._ids.trace_id, self._ids.span_id = span.trace_id, span.span_id
        parent = None if span.parent_id is None else _context(span.trace_id, span.parent_id)
        recorded = self._tracer.start_span(
            span.name,
            context=None if parent is None else set_span_in_context(NonRecordingSpan(parent)),
            kind=SpanKind(span.kind.value),
            attributes=span.attributes,
            links=[Link(_context(*ids)) for ids in span.links],
            start_time=span.began,
        )
        if span.error is not None:
            recorded.set_attribute("error.type", span.error)
            recorded.set_status(Status(StatusCode.ERROR))
        recorded.end(span.ended)

    async def stop(self) -> None:
        """Deliver what waits, for two seconds at most; the thread ends with the process."""
        use_recorder(None)
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def deliver() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=deliver, daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await ended.wait()


def export_spans(service: str, endpoint: str, *, ratio: float, version: str) -> SpanExport:
    """Record the spans of this process from now on.

    :param endpoint: of a collector for OTLP over HTTP, without a path.
    """
    exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=TIMEOUT_SECONDS)
    export = SpanExport(service, exporter, ratio=ratio, version=version)
    use_recorder(export)
    return export


def _context(trace_id: int, span_id: int) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
