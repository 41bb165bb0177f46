"""A handler changes rows and nothing else: it makes no request to a chain, a service or a broker.

Such a request may take longer than the broker lets a consumer be silent. Its partitions would go to
another consumer, and the batch would start again there, repeatedly. Work that needs a request is
stored by the handler and done by a separate task.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class RequestInHandler(Exception):
    """A handler made a request: a bug, never a state."""


class _Batch:
    """Shared with tasks that start inside a handler, so that they see it end."""

    def __init__(self) -> None:
        self.is_handled = False


_batch: ContextVar[_Batch | None] = ContextVar("handled_batch", default=None)


@contextmanager
def handling() -> Iterator[None]:
    """Refuse requests of this task, and of tasks that it starts, until the batch is handled."""
    batch = _Batch()
    token = _batch.set(batch)
    try:
        yield
    finally:
        batch.is_handled = True
        _batch.reset(token)


def forbid_in_handler(what: str) -> None:
    """
    :raises RequestInHandler: while a batch is handled.
    """
    batch = _batch.get()
    if batch is not None and not batch.is_handled:
        raise RequestInHandler(what)
