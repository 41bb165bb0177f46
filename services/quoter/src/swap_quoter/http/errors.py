"""The only map from a refusal to its public code and HTTP status."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_contracts.quoting import Refusal as RefusalAnswer
from swap_quoter.domain.refusals import (
    AboveMaximum,
    BelowMinimum,
    InventoryTooSmall,
    Method,
    MethodUnsupported,
    RateUnknown,
    Refusal,
    RouteUnknown,
    SlippageTooLarge,
)

CODES: Final[dict[type[Refusal], ErrorCode]] = {
    RouteUnknown: ErrorCode.ROUTE_NOT_FOUND_ERROR,
    RateUnknown: ErrorCode.ROUTE_NOT_FOUND_ERROR,
    BelowMinimum: ErrorCode.LESS_THAN_MIN_ERROR,
    AboveMaximum: ErrorCode.GREATER_THAN_MAX_ERROR,
    InventoryTooSmall: ErrorCode.INSUFFICIENT_LIQUIDITY,
    SlippageTooLarge: ErrorCode.VALIDATION_ERROR,
}
METHOD_CODES: Final = {
    Method.DEPOSITORY: ErrorCode.UNSUPPORTED_DEPOSITORY,
    Method.DEPOSIT_ADDRESS: ErrorCode.QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS,
    Method.GASLESS: ErrorCode.UNSUPPORTED_GASLESS,
}


def code_of(refusal: Refusal) -> ErrorCode:
    if isinstance(refusal, MethodUnsupported):
        return METHOD_CODES[refusal.method]
    return CODES[type(refusal)]


def told(refusal: Refusal) -> RefusalAnswer:
    """Return a refusal in public words."""
    return _answer(code_of(refusal), str(refusal), refusal.limit_base_units)


def refusal_response(code: ErrorCode, message: str, limit: int | None = None) -> Response:
    body = _answer(code, message, limit).model_dump_json()
    return Response(body, ERRORS[code].http_status, media_type="application/json")


def _answer(code: ErrorCode, message: str, limit: int | None) -> RefusalAnswer:
    limit_base_units = None if limit is None else str(limit)
    return RefusalAnswer(code=code, message=message, limit_base_units=limit_base_units)
