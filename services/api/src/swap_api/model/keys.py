"""Keys, what they stand for, and what they open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID, uuid5

from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode

SECRET_BYTES: Final = 32
LAST_SHOWN: Final = 4


class Environment(StrEnum):
    LIVE = "live"
    TEST = "test"


class KeyKind(StrEnum):
    SECRET = "secret"
    PUBLISHABLE = "publishable"


class Scope(StrEnum):
    """The right that an endpoint requires of a key."""

    ANY = "any"  # also a key that stands in a browser
    SECRET = "secret"
    NO_KEY = "nobody"  # no key at all
    PAY_LINK = "pay_link"  # no key: the token of the link of the swap in the path
    MEMBER = "member"  # an access token of a member, or an operator
    SELF = "self"  # an access token of the member whose data it is
    OPERATOR = "operator"  # never on the public port


@dataclass(frozen=True, slots=True)
class Allowances:
    """What an app may: rates are requests a minute. None: as the deployment's settings say."""

    reads: int | None = None
    prices: int | None = None
    creates: int | None = None
    ceiling_factor: int | None = None  # what the whole app may, in clients
    pending_swaps: int | None = None
    is_lifted: bool = False
    fee_basis_points: int = 0  # what the app takes of its swaps for itself
    swap_lifetime: timedelta | None = None  # how long its swaps wait for their deposit; test only


@dataclass(frozen=True, slots=True)
class Caller:
    """The app and the key of a request."""

    key_id: UUID
    app_id: UUID
    environment: Environment
    kind: KeyKind
    allowances: Allowances
    expires_at: datetime | None
    allowed_origins: frozenset[str] = frozenset()  # of pages that may use it; empty: any

    @property
    def is_publishable(self) -> bool:
        return self.kind is KeyKind.PUBLISHABLE

    def require(self, scope: Scope) -> None:
        """
        :raises ApiRefusal: when the key does not have the scope.
        """
        if scope is Scope.SECRET and self.is_publishable:
            raise forbidden("This needs a secret key; a publishable key does not open it")

    def require_origin(self, origin: str | None) -> None:
        """
        :param origin: of the page that sent the request; None where no browser named one.
        :raises ApiRefusal: when the key is limited to other origins.
        """
        if not self.allowed_origins or origin in self.allowed_origins:
            return
        if origin is None:
            raise forbidden("This key is for web pages of its allowed origins; no Origin was sent")
        raise forbidden("This key does not allow the origin of this web page")


def idempotency_owner(caller: Caller, client: str) -> UUID:
    """Return the owner of the idempotency keys of a request: an app, or one of its clients.

    All users of a web page share its publishable key. One user's idempotency key must neither
    replay another's answer nor block it.

    :param client: the address that distinguishes requests of publishable keys.
    """
    return uuid5(caller.app_id, client) if caller.is_publishable else caller.app_id


def anonymous_caller(environment: Environment) -> Caller:
    """Return the caller without a key; clients are separated by address, as of one web page."""
    no_id = UUID(int=0)
    return Caller(no_id, no_id, environment, KeyKind.PUBLISHABLE, Allowances(), None)


def key_text(environment: Environment, kind: KeyKind, secret: bytes) -> str:
    """Return the key as its owner keeps it; it is shown once."""
    middle = "pub_" if kind is KeyKind.PUBLISHABLE else ""
    return f"svc_{environment}_{middle}{secret.hex()}"


def forbidden(message: str) -> ApiRefusal:
    return ApiRefusal(ErrorCode.API_KEY_FORBIDDEN, message)
