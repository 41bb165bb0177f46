"""Maps errors to the error envelope; the only place with HTTP statuses."""

from __future__ import annotations

from typing import Final

import orjson

from swap_api.http.error_page import anchor_of
from swap_api.http.responses import JsonResponse
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_domain.catalogue import UnknownNetwork, UnknownToken
from swap_runtime.errors import Unavailable

DEFAULT_DOCS: Final = "/docs/errors"


class Errors:
    """Renders errors in the one form of all endpoints."""

    def __init__(self, docs_url: str = DEFAULT_DOCS) -> None:
        self._docs_url = docs_url

    def doc_url(self, code: ErrorCode) -> str:
        return f"{self._docs_url}#{anchor_of(code)}"

    def answer(self, error: BaseException, request_id: str) -> JsonResponse:
        """Return the answer of an error; the text of an unexpected one is not shown."""
        refusal = _refusal(error)
        metadata = {
            **refusal.metadata,
            "request_id": request_id,
            "doc_url": self.doc_url(refusal.code),
        }
        error_members = {"code": refusal.code, "message": refusal.message, "metadata": metadata}
        return JsonResponse(
            orjson.dumps({"data": None, "error": error_members}),
            ERRORS[refusal.code].http_status,
            refusal.headers,
        )

    def code_of(self, error: BaseException) -> ErrorCode:
        """Return the public code of an error."""
        return _refusal(error).code

    def catalogue(self) -> bytes:
        """Return every code that there is, for `GET /errors`."""
        return orjson.dumps(
            [
                {
                    "code": code,
                    "http_status": facts.http_status,
                    "retryable": facts.is_retryable,
                    "who_must_act": facts.who_must_act,
                    "money_at_risk": False,
                    "meaning": facts.meaning,
                    "doc_url": self.doc_url(code),
                }
                for code, facts in ERRORS.items()
            ]
        )


def _refusal(error: BaseException) -> ApiRefusal:
    if isinstance(error, ApiRefusal):
        return error
    if isinstance(error, Unavailable):
        return ApiRefusal(
            ErrorCode.SERVICE_UNAVAILABLE,
            "A part of the service is away for the moment; try again soon",
            headers={"retry-after": "1"},
        )
    if isinstance(error, (UnknownNetwork, UnknownToken)):
        # Names in requests are checked before: this one is of a stored swap.
        return ApiRefusal(
            ErrorCode.SERVICE_UNAVAILABLE,
            "A network or token of this swap is not served now; ask the operator of this service",
        )
    return ApiRefusal(
        ErrorCode.UNEXPECTED_ERROR,
        "Something went wrong on our side; try again, and tell us the request id if it stays",
    )
