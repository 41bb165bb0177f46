"""Logs: one JSON object per line on stdout; the text is fixed, what varies is a field."""

from __future__ import annotations

import logging as standard
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

import orjson
import structlog
from pydantic import SecretBytes, SecretStr

HIDDEN: Final = "**********"
# Fields whose values never reach a log, whatever their type.
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
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
        hide_secrets,
    ]
    structlog.configure(
        processors=[
            *shared,
            _service(service),
            structlog.processors.JSONRenderer(serializer=orjson.dumps, default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(standard.getLevelNamesMapping()[level]),
        logger_factory=structlog.BytesLoggerFactory(sys.stdout.buffer),
        cache_logger_on_first_use=True,
    )
    handler = standard.StreamHandler(sys.stdout)
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


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Add the fields (`swap_id`, `message_id`, `trace_id`) to every line logged inside."""
    with structlog.contextvars.bound_contextvars(**fields):
        yield


def hide_secrets(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Blank what is secret by type or by name."""
    for name, value in event.items():
        named = any(word in name for word in SECRET_WORDS)
        if named or isinstance(value, SecretStr | SecretBytes):
            event[name] = HIDDEN
    return event


def _service(name: str) -> structlog.typing.Processor:
    def add(
        _logger: object, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        event["service"] = name
        return event

    return add
