"""Who signs in: accounts, the organizations that they act in, and their sessions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

EMAIL_MAX: Final = 254
PASSWORD_MIN: Final = 12
PASSWORD_MAX: Final = 256
FRESH_WITHIN: Final = timedelta(minutes=10)
EMAIL: Final = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[a-z0-9.-]{1,189}")


class AccountRefused(Exception):
    """An email or a password cannot be used; the text has the reason, for its owner."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user with a password."""

    id: UUID
    email: str
    password_hash: str
    is_email_confirmed: bool = False  # by an identity provider: who made it owned the address
    has_password: bool = True  # that its owner chose; a provider's account has a random one


@dataclass(frozen=True, slots=True)
class Membership:
    """One organization that an account acts in."""

    id: UUID
    account_id: UUID
    organization_id: UUID
    organization_name: str  # when it was joined, for lists alone
    token_expires_at: datetime


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
    is_by_link: bool = False  # of an operator, and no password was set by it

    def is_fresh_by_provider(self, at: datetime) -> bool:
        """Whether its owner proved to be the owner of the email, just now."""
        return self.is_by_provider and at <= self.created_at + FRESH_WITHIN

    def is_fresh_by_link(self, at: datetime) -> bool:
        """Whether an operator's link opened it just now."""
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
    :raises AccountRefused: when it is too short, too long, or repeats the email.
    """
    if len(password) < PASSWORD_MIN:
        raise AccountRefused(f"Use {PASSWORD_MIN} characters or more.")
    if len(password) > PASSWORD_MAX:
        raise AccountRefused(f"Use {PASSWORD_MAX} characters or fewer.")
    if len(set(password)) < PASSWORD_MIN // 3 or email.partition("@")[0] in password.casefold():
        raise AccountRefused("This password is easy to guess. Use several words.")
