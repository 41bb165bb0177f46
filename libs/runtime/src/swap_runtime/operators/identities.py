"""Who may give orders on the internal port: identities with a token each, known by its hash."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

from swap_runtime.clock import Clock

SHARED_NAME: Final = "operator"  # the name under which orders with the shared token are logged
SCHEME: Final = b"Bearer "


class Role(StrEnum):
    VIEWER = "viewer"  # reads
    OPERATOR = "operator"  # reads, gives orders, approves orders of other operators
    SERVICE = "service"  # another service; it may use only the notifier's webhook endpoints


@dataclass(frozen=True, slots=True)
class Operator:
    name: str
    role: Role
    is_shared: bool = False  # any holder of the shared token: not one person


@dataclass(frozen=True, slots=True)
class KnownOperator:
    """An identity as it is configured."""

    operator: Operator
    token_sha256: bytes
    expires_at: datetime | None = None
    is_active: bool = True

    def is_valid(self, now: datetime) -> bool:
        return self.is_active and (self.expires_at is None or now < self.expires_at)


class Operators:
    """The identities of a deployment, the same in all of its services."""

    def __init__(self, known: Sequence[KnownOperator], *, clock: Clock) -> None:
        self._known = tuple(known)
        self._clock = clock

    def identify(self, authorization: str) -> Operator | None:
        """Return the token's operator; None for an unknown, expired or deactivated one.

        Every hash is compared, in constant time: the duration does not depend on the token.
        """
        value = authorization.encode("latin-1", "replace")  # ASGI decodes headers so
        if not value.startswith(SCHEME):
            return None
        digest = sha256(value.removeprefix(SCHEME)).digest()
        matching = [
            known for known in self._known if hmac.compare_digest(known.token_sha256, digest)
        ]
        now = self._clock()
        return next((known.operator for known in matching if known.is_valid(now)), None)

    def is_active_named_operator(self, name: str) -> bool:
        """Whether this is an active operator with an own token, so that its order can be approved.

        Holders of the shared token have none.
        """
        return name in self._personal_operators()

    @property
    def can_approve(self) -> bool:
        """Whether two named operators exist, so that one can approve what the other ordered."""
        return len(self._personal_operators()) > 1

    def _personal_operators(self) -> set[str]:
        now = self._clock()
        return {
            known.operator.name
            for known in self._known
            if known.operator.role is Role.OPERATOR
            and known.is_valid(now)
            and not known.operator.is_shared
        }


def token_hash(token: str) -> bytes:
    """Return what is configured of a token. Tokens are random and long: no salt is needed."""
    return sha256(token.encode()).digest()
