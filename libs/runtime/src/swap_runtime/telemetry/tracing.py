"""Spans of what a process does, in one trace per swap (0081).

Without a recorder nothing is recorded, and each call here costs one comparison. A trace id is a
swap's id (0049). Ids of spans that another process is a child of are derived in the same way, so
no message and no row carries them:

- the request that creates a swap: the second half of the swap's id;
- a message: the first half of its id;
- a consumer's processing of a message: from the message's id and the consumer's name.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from swap_contracts.envelope import Envelope

TRACE_ID: Final = re.compile(rb'"trace_id": ?"([0-9a-f-]{32,36})"')
HALF: Final = 2**64 - 1  # of a trace id; the bits of a span id
T = TypeVar("T")
Attributes = Mapping[str, str | int]
Times = tuple[int, int]  # when a span began and ended
Link = tuple[int, int]  # the ids of a trace and of a span


class Kind(Enum):
    """The kinds of OpenTelemetry."""

    INTERNAL = 0
    SERVER = 1
    CLIENT = 2
    PRODUCER = 3
    CONSUMER = 4


@dataclass(frozen=True, slots=True)
class Span:
    """One thing that was done; times in nanoseconds since 1970."""

    name: str
    kind: Kind
    trace_id: int
    span_id: int
    parent_id: int | None
    began: int
    ended: int
    attributes: Attributes = field(default_factory=dict)
    links: Sequence[Link] = ()
    error: str | None = None


class CreatedMessage(Protocol):
    """A message of an outbox, as its span needs it."""

    @property
    def message_id(self) -> UUID: ...

    @property
    def topic(self) -> str: ...

    @property
    def payload(self) -> bytes: ...

    @property
    def caused_by(self) -> str | None:
        """The trace of the message that caused it, where that is another one."""
        ...

    @property
    def begins_trace(self) -> bool:
        """Whether it has no cause in the service."""
        ...


class Recorder(Protocol):
    """Takes spans that ended; it neither waits nor raises."""

    def record(self, span: Span) -> None: ...


@dataclass(slots=True)
class Position:
    """The span of the running work. Mutable: the swap of a request becomes known while it is
    answered.
    """

    trace_id: int
    span_id: int
    parent_id: int | None = None
    links: list[Link] = field(default_factory=list)

    @property
    def traceparent(self) -> str:
        """What W3C Trace Context sends to the next process."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-01"


@dataclass(slots=True)
class Processing:
    """A batch of messages that a consumer handles, and the traces that it turned out to be for."""

    consumer: str
    messages: Mapping[int, UUID]  # by trace
    adopted: dict[int, int] = field(default_factory=dict)  # the message's trace, by swap's


_position: ContextVar[Position | None] = ContextVar("span", default=None)
_processing: ContextVar[Processing | None] = ContextVar("processed_batch", default=None)
_recorder: Recorder | None = None


def use_recorder(recorder: Recorder | None) -> None:
    """Record the spans of this process from now on; None ends it."""
    global _recorder  # noqa: PLW0603  one per process, as the registry of metrics
    _recorder = recorder


def is_on() -> bool:
    """Return whether spans are recorded."""
    return _recorder is not None


def current() -> Position | None:
    """Return the span of the running request or call."""
    return _position.get()


def exemplar(trace_id: str | UUID | None = None) -> dict[str, str] | None:
    """Return the labels that lead from a histogram to a trace: of the running request, or named."""
    if _recorder is None:
        return None
    if isinstance(trace_id, UUID):
        return {"trace_id": trace_id.hex}
    if trace_id is not None:
        # Of another service's message it may be any text, and a label has a bound.
        return {"trace_id": trace_id} if trace_number(trace_id) is not None else None
    position = _position.get()
    return None if position is None else {"trace_id": f"{position.trace_id:032x}"}


def create_swap(swap_id: UUID) -> None:
    """Make the running request the root of a new swap's trace."""
    if (position := _position.get()) is not None:
        if position.parent_id is not None:
            position.links.append((position.trace_id, position.parent_id))
        position.trace_id, position.span_id = swap_id.int, request_span_id(swap_id.int)
        position.parent_id = None


def join_swap(swap_id: UUID) -> None:
    """Put the running request into the trace of a swap that exists."""
    if (position := _position.get()) is not None:
        position.trace_id, position.parent_id = swap_id.int, request_span_id(swap_id.int)


def request_span_id(trace_id: int) -> int:
    """Return the span id of the request that created a swap."""
    return trace_id & HALF or 1


def message_span_id(message_id: UUID) -> int:
    """Return the span id of a message."""
    return message_id.int >> 64 or 1


def processing_span_id(message_id: UUID, consumer: str, trace_id: int | None = None) -> int:
    """Return the span id of what a consumer did about a message.

    :param trace_id: of the swap, where the message itself has another trace.
    """
    place = "" if trace_id is None else f"{trace_id:032x}"
    digest = blake2b(message_id.bytes + f"{consumer}/{place}".encode(), digest_size=8)
    return int.from_bytes(digest.digest()) or 1


def new_span_id() -> int:
    """Return a span id that no other process needs."""
    return secrets.randbits(64) or 1


def trace_number(trace_id: str) -> int | None:
    """Read the trace id of an envelope; None where it is none, as in tests."""
    digits = trace_id.replace("-", "")
    try:
        return int(digits, 16) or None if len(digits) == 32 else None  # noqa: PLR2004  hex digits
    except ValueError:
        return None


def now() -> int:
    """Return nanoseconds since 1970: spans of several processes are compared by it."""
    return time.time_ns()  # no decision depends on it, so no test needs to set it


@contextmanager
def calling(
    name: str, parent: Position | None, attributes: Attributes
) -> Iterator[Mapping[str, str]]:
    """Record a request to another process; give the headers that it is sent with.

    :param parent: of the request that it is made for: the span of it, or None for no span.
    """
    if _recorder is None or parent is None:
        yield {}
        return
    inner = Position(parent.trace_id, new_span_id(), parent.span_id)
    with _record_span(lambda: name, Kind.CLIENT, inner, attributes):
        yield {"traceparent": inner.traceparent}


@contextmanager
def serving(position: Position, name: Callable[[], str], attributes: Attributes) -> Iterator[None]:
    """Record a request; its name and attributes are read when it has ended."""
    with _record_span(name, Kind.SERVER, position, attributes):
        yield


def _record_span(
    name: Callable[[], str], kind: Kind, position: Position, attributes: Attributes
) -> AbstractContextManager[None]:
    def record(times: Times, error: str | None) -> None:
        ids = position.trace_id, position.span_id, position.parent_id
        _record(Span(name(), kind, *ids, *times, attributes, position.links, error))

    return _measure(_position, position, record)


@contextmanager
def _measure(
    variable: ContextVar[T], value: T, record: Callable[[Times, str | None], None]
) -> Iterator[None]:
    """Set the variable meanwhile; at the end, record the times and the error's class."""
    token, began, error = variable.set(value), now(), None
    try:
        yield
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        variable.reset(token)
        record((began, now()), error)


@contextmanager
def processing(topic: str, consumer: str, envelopes: Sequence[Envelope[Any]]) -> Iterator[None]:
    """Record the handling of a batch: a span per message, the child of the message's own.

    What the batch changes of a swap in another trace is a span of that trace too, with a link to
    the message. A chain-watcher's message about a deposit names no swap, for example.
    """
    if _recorder is None:
        yield
        return
    traced = [
        (trace, each.message_id)
        for each in envelopes
        if (trace := trace_number(each.trace_id)) is not None
    ]
    batch = Processing(consumer, dict(traced))

    def record(times: Times, error: str | None) -> None:
        _record_batch(topic, batch, traced, times, error)

    with _measure(_processing, batch, record):
        yield


def _record_batch(
    topic: str,
    batch: Processing,
    traced: Iterable[tuple[int, UUID]],
    times: Times,
    error: str | None,
) -> None:
    name, consumer = f"process {topic}", batch.consumer
    attributes = _messaging(topic) | {"messaging.consumer.group.name": consumer}
    for trace, message_id in traced:
        span_id, parent = processing_span_id(message_id, consumer), message_span_id(message_id)
        span = Span(name, Kind.CONSUMER, trace, span_id, parent, *times, attributes, (), error)
        _record(span)
    for trace, cause in batch.adopted.items():
        message_id = batch.messages[cause]
        span_id = processing_span_id(message_id, consumer, trace)
        links = [(cause, message_span_id(message_id))]
        parent = request_span_id(trace)
        span = Span(name, Kind.CONSUMER, trace, span_id, parent, *times, attributes, links, error)
        _record(span)


def messages_created(messages: Iterable[CreatedMessage]) -> None:
    """Record messages that a transaction adds to the outbox."""
    if _recorder is None:
        return
    at = now()
    for message in messages:
        trace = _trace_of(message.payload)
        if trace is not None:
            span_id, parent = message_span_id(message.message_id), _parent(trace, message)
            name, attributes = f"create {message.topic}", _messaging(message.topic)
            _record(Span(name, Kind.PRODUCER, trace, span_id, parent, at, at, attributes))


def messages_published(
    messages: Iterable[tuple[UUID, str, bytes]], *, began: int, ended: int
) -> None:
    """Record messages that the broker took; each is an id, a topic and a payload."""
    for message_id, topic, payload in messages:
        trace = _trace_of(payload)
        if trace is not None:
            parent, attributes = message_span_id(message_id), _messaging(topic)
            name, span_id = f"publish {topic}", new_span_id()
            _record(Span(name, Kind.PRODUCER, trace, span_id, parent, began, ended, attributes))


def record_for_swaps(
    name: str,
    swap_ids: Iterable[UUID],
    *,
    kind: Kind,
    began: int,
    attributes: Attributes,
    error: str | None = None,
) -> None:
    """Record one thing that was done for several swaps, in the trace of each.

    Its parent is the request that created the swap: what was due stood in a table since.
    """
    ended = now()
    for swap_id in swap_ids:
        parent = request_span_id(swap_id.int)
        ids = (swap_id.int, new_span_id(), parent)
        _record(Span(name, kind, *ids, began, ended, attributes, (), error))


def record_child(
    name: str,
    swap_id: UUID,
    parent_id: int,
    *,
    kind: Kind,
    began: int,
    attributes: Attributes,
    error: str | None = None,
) -> None:
    """Record what was done for a swap because of a span with a known id."""
    ids = (swap_id.int, new_span_id(), parent_id)
    _record(Span(name, kind, *ids, began, now(), attributes, (), error))


def _parent(trace: int, message: CreatedMessage) -> int | None:
    position, batch = _position.get(), _processing.get()
    if position is not None and position.trace_id == trace:
        return position.span_id
    if batch is not None:
        if trace in batch.messages:
            return processing_span_id(batch.messages[trace], batch.consumer)
        cause = _cause(batch, message)
        if cause is not None:
            batch.adopted[trace] = cause
            return processing_span_id(batch.messages[cause], batch.consumer, trace)
    return None if message.begins_trace else request_span_id(trace)


def _cause(batch: Processing, message: CreatedMessage) -> int | None:
    """Return the trace of the message of the batch that caused another one, if it is known."""
    named = trace_number(message.caused_by) if message.caused_by else None
    if named in batch.messages:
        return named
    return next(iter(batch.messages)) if len(batch.messages) == 1 else None


def _trace_of(payload: bytes) -> int | None:
    """Return the trace of a rendered envelope, which has it before its body."""
    found = TRACE_ID.search(payload)
    return None if found is None else trace_number(found[1].decode())


def _messaging(topic: str) -> dict[str, str | int]:
    return {"messaging.system": "kafka", "messaging.destination.name": topic}


def _record(span: Span) -> None:
    if _recorder is not None:
        _recorder.record(span)
