"""Requests that cannot be carried out, for a reason that their sender may read."""

from __future__ import annotations


class RefusedRequest(Exception):
    """A request is refused; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
