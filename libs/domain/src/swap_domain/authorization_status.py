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
    DEPOSIT_REVERTED = "deposit_reverted"


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
    # Published and mined as a revert: the result depends on why the token refused.
    (AuthorizationStatus.PUBLISHED, AuthorizationTrigger.WINDOW_CLOSED):
        AuthorizationStatus.EXPIRED,
    (AuthorizationStatus.PUBLISHED, AuthorizationTrigger.BALANCE_SHORT):
        AuthorizationStatus.INSUFFICIENT,
    (AuthorizationStatus.PUBLISHED, AuthorizationTrigger.SIGNATURE_REFUSED):
        AuthorizationStatus.REJECTED,
    # A reorg took it: the same bytes are out still.
    (AuthorizationStatus.COMPLETED, AuthorizationTrigger.DEPOSIT_REVERTED):
        AuthorizationStatus.PUBLISHED,
    # After Insufficient the same signature may be submitted again, and after one that was refused
    # at once another may.
    (AuthorizationStatus.INSUFFICIENT, AuthorizationTrigger.SUBMITTED_AGAIN):
        AuthorizationStatus.INITIATED,
    (AuthorizationStatus.INSUFFICIENT, AuthorizationTrigger.WINDOW_CLOSED):
        AuthorizationStatus.EXPIRED,
    (AuthorizationStatus.REJECTED, AuthorizationTrigger.SUBMITTED_AGAIN):
        AuthorizationStatus.INITIATED,
    (AuthorizationStatus.REJECTED, AuthorizationTrigger.WINDOW_CLOSED):
        AuthorizationStatus.EXPIRED,
})  # fmt: skip


class IllegalAuthorization(ValueError):
    """A trigger that the status does not have."""


def next_authorization_status(
    status: AuthorizationStatus, trigger: AuthorizationTrigger
) -> AuthorizationStatus:
    """
    :raises IllegalAuthorization: for a pair that is not in the table.
    """
    try:
        return TRANSITIONS[status, trigger]
    except KeyError:
        raise IllegalAuthorization(f"{trigger} in {status}") from None
