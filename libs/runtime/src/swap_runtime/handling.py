"""A handler changes rows and nothing else: it makes no request to a chain, a service or a broker.

Such a request may take longer than the broker lets a consumer be silent. Its partitions would go to
another consumer, and the batch would begin anew there, again and again. What needs a request is
written down by the handler and done by a task of its own.
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
