"""The refusals that a partner receives.

* ApiRefusal              one of the public error codes, with a sentence fit to show a user
  x Invalid               VALIDATION_ERROR, with the fields at fault
  x NotFound              NOT_FOUND; the same text for another tenant's
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_contracts.public.errors import ErrorCode
from swap_runtime.errors import RequestRefused


class ApiRefusal(RequestRefused):
    """A refusal with its public code."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.metadata = dict(metadata or {})
        self.headers = dict(headers or {})


def field_errors_of(**fields: str) -> dict[str, Any]:
    """Return the metadata that names the fields, each with why."""
    return {"field_errors": fields}


class Invalid(ApiRefusal):
    """A parameter is missing, malformed or out of range."""

    def __init__(self, message: str, *, fields: Mapping[str, str] | None = None) -> None:
        metadata = {"field_errors": dict(fields)} if fields else {}
        super().__init__(ErrorCode.VALIDATION_ERROR, message, metadata=metadata)

    @classmethod
    def field(cls, name: str, why: str) -> Invalid:
        """Refuse one field; `why` goes on after its name."""
        return cls(f"{name} {why}", fields={name: why})


class NotFound(ApiRefusal):
    """There is no such thing, or it belongs to another tenant: the same text for both."""

    def __init__(self, message: str = "There is nothing here") -> None:
        super().__init__(ErrorCode.NOT_FOUND, message)
