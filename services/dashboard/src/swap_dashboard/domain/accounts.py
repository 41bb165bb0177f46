"""Who signs in: accounts, the organizations that they act in, and their sessions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_dashboard.domain.refusals import RefusedRequest

EMAIL_MAX: Final = 254
PASSWORD_MIN: Final = 12
PASSWORD_MAX: Final = 256
DISTINCT_CHARACTERS_MIN: Final = 4
LOCAL_PART_MIN: Final = 4  # a shorter one is part of many good passwords
FRESH_WITHIN: Final = timedelta(minutes=10)
EMAIL: Final = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[a-z0-9.-]{1,189}")


class AccountRefused(RefusedRequest):
    """An email or a password cannot be used."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user with a password."""

    id: UUID
    email: str
    password_hash: str
    is_email_confirmed: bool = False  # by a first sign-in at a provider; it replaced the password
    has_password: bool = True  # False: the stored hash is of a random password


@dataclass(frozen=True, slots=True)
class Membership:
    """One organization that an account acts in."""

    id: UUID
    account_id: UUID
    organization_id: UUID
    organization_name: str  # when it was joined, for lists alone
    token_expires_at: datetime  # of its access token to the management API, stored sealed


@dataclass(frozen=True, slots=True)
class Session:
    """One browser that is signed in."""

    id: UUID
    account_id: UUID
    email: str
    membership_id: UUID | None
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    browser: str
    address: str
    is_by_provider: bool = False
    is_by_link: bool = False  # opened by an operator's sign-in link; False once it set a password

    def is_fresh_by_provider(self, at: datetime) -> bool:
        """Whether an identity provider confirmed the owner's email within `FRESH_WITHIN`."""
        return self.is_by_provider and at <= self.created_at + FRESH_WITHIN

    def is_fresh_by_link(self, at: datetime) -> bool:
        """Whether an operator's link opened it within `FRESH_WITHIN`, and set no password yet."""
        return self.is_by_link and at <= self.created_at + FRESH_WITHIN


def to_email(text: str) -> str:
    """Return an address as it is stored and compared.

    :raises AccountRefused: when it is no address.
    """
    email = text.strip().casefold()
    if len(email) > EMAIL_MAX or not EMAIL.fullmatch(email):
        raise AccountRefused("This is not an email address.")
    return email


def invited_email(name: str) -> str | None:
    """Return the email that an invitation is bound to; None where its name is no email."""
    try:
        return to_email(name)
    except AccountRefused:
        return None


def check_invited(name: str, email: str) -> None:
    """
    :param name: who is invited.
    :raises AccountRefused: when the invitation is bound to another email.
    """
    invited = invited_email(name)
    if invited is not None and invited != email:
        raise AccountRefused(
            f"This invitation is for {invited}, not for {email}. Join with the account of "
            f"{invited}, or ask for an invitation to {email}."
        )


def check_password(password: str, email: str) -> None:
    """
    :raises AccountRefused: when it is too short or long, has under four distinct characters, or
        contains the email's local part of four characters or more.
    """
    if len(password) < PASSWORD_MIN:
        raise AccountRefused(f"Use {PASSWORD_MIN} characters or more.")
    if len(password) > PASSWORD_MAX:
        raise AccountRefused(f"Use {PASSWORD_MAX} characters or fewer.")
    local_part = email.partition("@")[0]
    repeats_email = len(local_part) >= LOCAL_PART_MIN and local_part in password.casefold()
    if len(set(password)) < DISTINCT_CHARACTERS_MIN or repeats_email:
        raise AccountRefused("This password is easy to guess. Use several words.")
