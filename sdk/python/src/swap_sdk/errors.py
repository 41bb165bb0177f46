"""Errors of a call: the service refused, or did not answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx


class SwapError(Exception):
    """A call failed."""


class ApiError(SwapError):
    """The service answered with an error.

    :ivar code: one of the codes of `GET /errors`.
    :ivar request_id: the id to give to the operator of the service.
    """

    def __init__(
        self,
        http_status: int,
        code: str,
        message: str,
        metadata: Mapping[str, Any],
        *,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.http_status = http_status
        self.code = code
        self.message = message
        self.metadata = metadata
        self.retry_after = retry_after

    @property
    def request_id(self) -> str | None:
        found = self.metadata.get("request_id")
        return None if found is None else str(found)

    @property
    def field_errors(self) -> Mapping[str, str]:
        """Return the error of each parameter; empty if no parameter is wrong."""
        return dict(self.metadata.get("field_errors") or {})


class Unreachable(SwapError):
    """No answer, or one that is not the service's."""


def error_of(answer: httpx.Response) -> SwapError:
    """Return the error of an answer."""
    try:
        problem = answer.json()["error"]
        code, message, metadata = problem["code"], problem["message"], problem["metadata"] or {}
    except (ValueError, KeyError, TypeError):
        return Unreachable(f"{answer.status_code} from something that is not the service")
    return ApiError(
        answer.status_code, code, message, metadata, retry_after=_seconds(answer.headers)
    )


def as_failure(error: Exception) -> SwapError:
    """Return a failure below HTTP as an error of the client."""
    if isinstance(error, SwapError):
        return error
    return Unreachable(f"{type(error).__name__}: {error}")


def _seconds(headers: httpx.Headers) -> float | None:
    seconds = headers.get("retry-after", "")
    return float(seconds) if seconds.isascii() and seconds.isdecimal() else None
