"""Logs: one JSON object per line on stdout; the text is fixed, what varies is a field."""

from __future__ import annotations

import json
import logging as standard
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final, cast
from uuid import UUID

import orjson
import structlog
from pydantic import SecretBytes, SecretStr

from swap_contracts.tracing import trace_id_of
from swap_runtime.telemetry.log_output import LogOutput

HIDDEN: Final = "**********"
# Fields with values of any type that never reach a log.
SECRET_WORDS: Final = (
    "password",
    "secret",
    "token_value",
    "private_key",
    "api_key",
    "authorization_header",
)


def configure_logging(service: str, *, level: str = "INFO") -> None:
    """Send this process's logs, and those of its libraries, to stdout."""
    output = LogOutput(sys.stdout)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
        hide_secrets,
        add_trace_id,
    ]
    structlog.configure(
        processors=[
            *shared,
            _service(service),
            structlog.processors.JSONRenderer(serializer=to_json, default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(standard.getLevelNamesMapping()[level]),
        logger_factory=structlog.BytesLoggerFactory(cast(BinaryIO, output)),
        cache_logger_on_first_use=True,
    )
    handler = standard.StreamHandler(output)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared, _service(service)],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    standard.basicConfig(handlers=[handler], level=standard.WARNING, force=True)
    standard.captureWarnings(capture=True)
    _log_uncaught()


def use_json_output(logger: standard.Logger) -> None:
    """Take a library's own handlers away: what it logs is written as JSON with everything else."""
    logger.handlers.clear()
    logger.propagate = True


def to_json(event: object, *, default: Callable[[object], object]) -> bytes:
    """Return one line. Amounts of 256 bits and broken text must not make logging fail."""
    try:
        return orjson.dumps(event, default=default)
    except TypeError:
        return json.dumps(event, default=default).encode()


def _log_uncaught() -> None:
    """Log exceptions that nothing caught: Python writes them as plain text otherwise."""
    log = structlog.get_logger()

    def log_uncaught(
        kind: type[BaseException], error: BaseException | None, trace: object = None
    ) -> None:
        if not issubclass(kind, KeyboardInterrupt | SystemExit):
            log.critical("uncaught exception", exc_info=error)

    sys.excepthook = log_uncaught
    threading.excepthook = lambda event_: log_uncaught(event_.exc_type, event_.exc_value)
    sys.unraisablehook = lambda event_: log_uncaught(event_.exc_type, event_.exc_value)


@contextmanager
def bind_fields(**fields: object) -> Iterator[None]:
    """Add the fields (`swap_id`, `message_id`, `trace_id`) to every line logged inside."""
    tokens = structlog.contextvars.bind_contextvars(**fields)
    try:
        yield
    finally:
        structlog.contextvars.reset_contextvars(**tokens)


def hide_secrets(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Blank what is secret by type or by name."""
    for name, value in event.items():
        named = any(word in name for word in SECRET_WORDS)
        if named or isinstance(value, SecretStr | SecretBytes):
            event[name] = HIDDEN
    return event


def add_trace_id(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Add the trace of the swap that a line is about, whichever service writes it."""
    if (swap_id := event.get("swap_id")) is not None:
        with suppress(ValueError):
            event["trace_id"] = trace_id_of(UUID(str(swap_id)))
    return event


def _service(name: str) -> structlog.typing.Processor:
    def add(
        _logger: object, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        event["service"] = name
        return event

    return add
