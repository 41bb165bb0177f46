"""Every error code a partner can meet. `GET /errors` is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ErrorCode(StrEnum):
    VALIDATION_ERROR = "VALIDATION_ERROR"
    API_KEY_REQUIRED = "API_KEY_REQUIRED"
    API_KEY_FORBIDDEN = "API_KEY_FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    IDEMPOTENCY_KEY_IN_PROGRESS = "IDEMPOTENCY_KEY_IN_PROGRESS"
    IDEMPOTENCY_ANSWER_NOT_KEPT = "IDEMPOTENCY_ANSWER_NOT_KEPT"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    RATE_LIMITED = "RATE_LIMITED"
    UNEXPECTED_ERROR = "UNEXPECTED_ERROR"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    ROUTE_NOT_FOUND_ERROR = "ROUTE_NOT_FOUND_ERROR"
    LESS_THAN_MIN_ERROR = "LESS_THAN_MIN_ERROR"
    GREATER_THAN_MAX_ERROR = "GREATER_THAN_MAX_ERROR"
    INVALID_ADDRESS_ERROR = "INVALID_ADDRESS_ERROR"
    BLACKLISTED_ADDRESS = "BLACKLISTED_ADDRESS"
    PRICE_IMPACT_TOO_HIGH = "PRICE_IMPACT_TOO_HIGH"
    INSUFFICIENT_LIQUIDITY = "INSUFFICIENT_LIQUIDITY"
    CONFLICTING_FUNDING_METHODS = "CONFLICTING_FUNDING_METHODS"
    UNSUPPORTED_DEPOSITORY = "UNSUPPORTED_DEPOSITORY"
    QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS = "QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS"
    UNSUPPORTED_GASLESS = "UNSUPPORTED_GASLESS"
    REFUND_ADDRESS_REQUIRED = "REFUND_ADDRESS_REQUIRED"
    SOURCE_ADDRESS_REQUIRED = "SOURCE_ADDRESS_REQUIRED"
    AUTHORIZATION_NOT_REQUESTED = "AUTHORIZATION_NOT_REQUESTED"
    AUTHORIZATION_ALREADY_SUBMITTED = "AUTHORIZATION_ALREADY_SUBMITTED"
    AUTHORIZATION_EXPIRED = "AUTHORIZATION_EXPIRED"
    SIGNATURE_INVALID = "SIGNATURE_INVALID"
    INSUFFICIENT_SIGNER_BALANCE = "INSUFFICIENT_SIGNER_BALANCE"
    SWAP_NOT_PAYABLE = "SWAP_NOT_PAYABLE"
    DEPOSIT_NOT_ATTACHABLE = "DEPOSIT_NOT_ATTACHABLE"
    TOO_MANY_PENDING_SWAPS = "TOO_MANY_PENDING_SWAPS"
    PAYOUTS_PAUSED = "PAYOUTS_PAUSED"
    ACCESS_TOKEN_REQUIRED = "ACCESS_TOKEN_REQUIRED"
    ACCESS_TOKEN_FORBIDDEN = "ACCESS_TOKEN_FORBIDDEN"
    ROLE_TOO_LOW = "ROLE_TOO_LOW"
    INVITATION_INVALID = "INVITATION_INVALID"
    LAST_OWNER = "LAST_OWNER"
    KEY_CLOSED = "KEY_CLOSED"
    LIMIT_REACHED = "LIMIT_REACHED"
    DISABLED_BY_OPERATOR = "DISABLED_BY_OPERATOR"


class FailReason(StrEnum):
    """Values of `SwapModel.fail_reason`."""

    RECEIVED_LESS_THAN_VALID_RANGE = "received_less_than_valid_range"
    RECEIVED_MORE_THAN_VALID_RANGE = "received_more_than_valid_range"
    SWAP_ROUTE_UNAVAILABLE = "swap_route_unavailable"
    DEGRADED_QUOTE = "degraded_quote"
    INSUFFICIENT_LIQUIDITY = "insufficient_liquidity"
    PROVIDER_FAILED = "provider_failed"
    DESTINATION_UNAVAILABLE = "destination_unavailable"
    REFUND_BELOW_COST = "refund_below_cost"
    NO_REFUND_ADDRESS = "no_refund_address"
    REJECTED_BY_POLICY = "rejected_by_policy"


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    http_status: int
    is_retryable: bool
    who_must_act: str  # caller, user, or operator
    meaning: str


def _final(http_status: int, who_must_act: str, meaning: str) -> ErrorFacts:
    return ErrorFacts(http_status, is_retryable=False, who_must_act=who_must_act, meaning=meaning)


def _retryable(http_status: int, who_must_act: str, meaning: str) -> ErrorFacts:
    return ErrorFacts(http_status, is_retryable=True, who_must_act=who_must_act, meaning=meaning)


CALLER: Final = "caller"
USER: Final = "user"
OPERATOR: Final = "operator"

# No error of this interface ever puts money at risk: what was paid is credited or claimable.
ERRORS: Final[dict[ErrorCode, ErrorFacts]] = {
    ErrorCode.VALIDATION_ERROR: _final(
        400, CALLER, "A parameter is missing, malformed or out of range."
    ),
    ErrorCode.API_KEY_REQUIRED: _final(401, CALLER, "No API key was sent."),
    ErrorCode.API_KEY_FORBIDDEN: _final(
        403, CALLER, "The API key is unknown, revoked, expired, or may not do this."
    ),
    ErrorCode.NOT_FOUND: _final(404, CALLER, "There is nothing here."),
    ErrorCode.METHOD_NOT_ALLOWED: _final(405, CALLER, "This address does not answer that method."),
    ErrorCode.IDEMPOTENCY_KEY_REUSED: _final(
        409, CALLER, "The idempotency key was used with another body."
    ),
    ErrorCode.IDEMPOTENCY_KEY_IN_PROGRESS: _retryable(
        409, CALLER, "The first request with this idempotency key is still running."
    ),
    ErrorCode.IDEMPOTENCY_ANSWER_NOT_KEPT: _final(
        409,
        CALLER,
        "The request with this idempotency key is not done again, and what it showed is not kept."
        " `id` names what it made, where that is known.",
    ),
    ErrorCode.PAYLOAD_TOO_LARGE: _final(413, CALLER, "The request body is too large."),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: _final(415, CALLER, "The request body must be JSON."),
    ErrorCode.RATE_LIMITED: _retryable(429, CALLER, "Too many requests."),
    ErrorCode.UNEXPECTED_ERROR: _retryable(500, OPERATOR, "The service made an error."),
    ErrorCode.SERVICE_UNAVAILABLE: _retryable(
        503, OPERATOR, "A part of the service is away for the moment."
    ),
    ErrorCode.ROUTE_NOT_FOUND_ERROR: _final(
        404, CALLER, "The network, token or pair is not served, or has no price now."
    ),
    ErrorCode.LESS_THAN_MIN_ERROR: _final(400, CALLER, "The amount is below the route's minimum."),
    ErrorCode.GREATER_THAN_MAX_ERROR: _final(
        400, CALLER, "The amount is above the route's maximum."
    ),
    ErrorCode.INVALID_ADDRESS_ERROR: _final(400, CALLER, "An address is not valid on its network."),
    ErrorCode.BLACKLISTED_ADDRESS: _final(
        400, USER, "An address is refused by this deployment's policy."
    ),
    ErrorCode.PRICE_IMPACT_TOO_HIGH: _final(
        400, CALLER, "The result would be too far below the market price."
    ),
    ErrorCode.INSUFFICIENT_LIQUIDITY: _retryable(
        400, OPERATOR, "Too little is held on the destination to pay this now."
    ),
    ErrorCode.CONFLICTING_FUNDING_METHODS: _final(
        400, CALLER, "The funding methods exclude each other."
    ),
    ErrorCode.UNSUPPORTED_DEPOSITORY: _final(
        400, CALLER, "The source network has no Depository, or it is closed for the moment."
    ),
    ErrorCode.QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS: _final(
        400, CALLER, "This route cannot be funded through a deposit address."
    ),
    ErrorCode.UNSUPPORTED_GASLESS: _final(
        400, CALLER, "This token cannot be deposited by a signature."
    ),
    ErrorCode.REFUND_ADDRESS_REQUIRED: _final(400, CALLER, "This route needs a refund address."),
    ErrorCode.SOURCE_ADDRESS_REQUIRED: _final(
        400, USER, "Connect the wallet that will sign, or pass source_address"
    ),
    ErrorCode.AUTHORIZATION_NOT_REQUESTED: _final(
        400,
        CALLER,
        "There is no authorization request found; fetch the deposit actions first",
    ),
    ErrorCode.AUTHORIZATION_ALREADY_SUBMITTED: _final(
        400, CALLER, "This swap is already authorized."
    ),
    ErrorCode.AUTHORIZATION_EXPIRED: _final(
        400, USER, "The authorization expired; fetch the deposit actions and sign again."
    ),
    ErrorCode.SIGNATURE_INVALID: _final(
        400, USER, "The signature is not the signer's over this data."
    ),
    ErrorCode.INSUFFICIENT_SIGNER_BALANCE: _retryable(
        400, USER, "The signer holds less than the deposit amount."
    ),
    ErrorCode.SWAP_NOT_PAYABLE: _final(409, CALLER, "The swap is already paid, expired or closed."),
    ErrorCode.DEPOSIT_NOT_ATTACHABLE: _final(
        409, USER, "The transfer is another swap's, was paid back, or is not what the swap takes."
    ),
    ErrorCode.TOO_MANY_PENDING_SWAPS: _retryable(
        429, CALLER, "Too many swaps or deposit addresses wait for a deposit."
    ),
    ErrorCode.PAYOUTS_PAUSED: _retryable(503, OPERATOR, "Payouts are paused."),
    ErrorCode.ACCESS_TOKEN_REQUIRED: _final(401, CALLER, "No access token was sent."),
    ErrorCode.ACCESS_TOKEN_FORBIDDEN: _final(
        403, CALLER, "The access token is unknown, revoked or expired, or its member is gone."
    ),
    ErrorCode.ROLE_TOO_LOW: _final(403, USER, "The member's role may not do this."),
    ErrorCode.INVITATION_INVALID: _final(
        400, USER, "The invitation is unknown, taken, revoked or expired."
    ),
    ErrorCode.LAST_OWNER: _final(409, USER, "The organization would be left without an owner."),
    ErrorCode.KEY_CLOSED: _final(409, USER, "The API key is already revoked or expired."),
    ErrorCode.LIMIT_REACHED: _final(
        409, USER, "There are as many of these as may be; `limit` names the bound, `most` says it."
    ),
    ErrorCode.DISABLED_BY_OPERATOR: _final(
        409, OPERATOR, "An operator disabled the webhook endpoint; only an operator enables it."
    ),
}
