"""Every status a gasless authorization can have and every move between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class AuthorizationStatus(StrEnum):
    INITIATED = "Initiated"
    PUBLISHED = "Published"
    COMPLETED = "Completed"
    EXPIRED = "Expired"
    INSUFFICIENT = "Insufficient"
    REJECTED = "Rejected"


class AuthorizationTrigger(StrEnum):
    BROADCAST = "broadcast"
    DEPOSIT_CONFIRMED = "deposit_confirmed"
    WINDOW_CLOSED = "window_closed"
    BALANCE_SHORT = "balance_short"
    SIGNATURE_REFUSED = "signature_refused"
    SUBMITTED_AGAIN = "submitted_again"


TRANSITIONS: Final[
    Mapping[tuple[AuthorizationStatus, AuthorizationTrigger], AuthorizationStatus]
] = MappingProxyType({
    (AuthorizationStatus.INITIATED, AuthorizationTrigger.BROADCAST): AuthorizationStatus.PUBLISHED,
    (AuthorizationStatus.INITIATED, AuthorizationTrigger.WINDOW_CLOSED):
        AuthorizationStatus.EXPIRED,
    (AuthorizationStatus.INITIATED, AuthorizationTrigger.BALANCE_SHORT):
        AuthorizationStatus.INSUFFICIENT,
    (AuthorizationStatus.INITIATED, AuthorizationTrigger.SIGNATURE_REFUSED):
        AuthorizationStatus.REJECTED,
    (AuthorizationStatus.PUBLISHED, AuthorizationTrigger.DEPOSIT_CONFIRMED):
        AuthorizationStatus.COMPLETED,
    # Published and mined as a revert: what it says depends on why the token refused.
    (AuthorizationStatus.PUBLISHED, AuthorizationTrigger.WINDOW_CLOSED):
        AuthorizationStatus.EXPIRED,
    (AuthorizationStatus.PUBLISHED, AuthorizationTrigger.BALANCE_SHORT):
        AuthorizationStatus.INSUFFICIENT,
    (AuthorizationStatus.PUBLISHED, AuthorizationTrigger.SIGNATURE_REFUSED):
        AuthorizationStatus.REJECTED,
    # After Insufficient the same signature may be submitted again.
    (AuthorizationStatus.INSUFFICIENT, AuthorizationTrigger.SUBMITTED_AGAIN):
        AuthorizationStatus.INITIATED,
    (AuthorizationStatus.INSUFFICIENT, AuthorizationTrigger.WINDOW_CLOSED):
        AuthorizationStatus.EXPIRED,
})  # fmt: skip
