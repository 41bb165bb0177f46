"""Members who manage an organization's apps and keys, and their roles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from swap_api.model.keys import Allowances, Caller, Environment, KeyKind
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode

TOKEN_PREFIX: Final = "svc_user_"
INVITATION_PREFIX: Final = "svc_invite_"
TOKEN_TERM: Final = timedelta(days=90)
TOKEN_TERM_MAX: Final = timedelta(days=366)
INVITATION_TERM: Final = timedelta(days=7)
OPERATOR_NAME: Final = "operator"


class Role(StrEnum):
    """From the highest role to the lowest."""

    OWNER = "owner"  # everything, other owners included
    ADMIN = "admin"  # everything but owners
    DEVELOPER = "developer"  # looks at everything, and works on test apps
    VIEWER = "viewer"

    @property
    def rank(self) -> int:
        """Return a rank: higher for more rights."""
        return -list(Role).index(self)


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor of a management request, and the request."""

    name: str
    request_id: str = ""
    member_id: UUID | None = None  # None: an operator of this deployment
    organization_id: UUID | None = None  # None: all of them
    role: Role = Role.OWNER

    @property
    def is_operator(self) -> bool:
        return self.member_id is None

    def asking(self, request_id: str) -> Actor:
        return replace(self, request_id=request_id)

    def require(self, role: Role) -> None:
        """
        :raises ApiRefusal: when the actor's role is a lower one.
        """
        if self.role.rank < role.rank:
            raise ApiRefusal(
                ErrorCode.ROLE_TOO_LOW, f"This needs the role {role}; yours is {self.role}"
            )

    def require_to_work_on(self, environment: Environment) -> None:
        """
        :raises ApiRefusal: unless the role may change apps of the environment.
        """
        self.require(Role.DEVELOPER if environment is Environment.TEST else Role.ADMIN)

    def require_over(self, *roles: Role) -> None:
        """
        :raises ApiRefusal: unless the actor may give and take all of the roles.
        """
        self.require(max((Role.ADMIN, *roles), key=lambda role: role.rank))


OPERATOR: Final = Actor(OPERATOR_NAME)


def operator_actor(name: str) -> Actor:
    """Return the operator of this name, from the token."""
    return replace(OPERATOR, name=name)


def secret_text(prefix: str, secret: bytes) -> str:
    """Return a token as its owner keeps it; it is shown once."""
    return prefix + secret.hex()


def member_caller(actor: Actor, environment: Environment) -> tuple[Caller, str]:
    """Return how a member's requests are counted: by member, under the organization's ceiling."""
    no_id = UUID(int=0)
    caller = Caller(
        actor.member_id or no_id,
        actor.organization_id or no_id,
        environment,
        KeyKind.PUBLISHABLE,
        Allowances(),
        None,
    )
    return caller, str(actor.member_id)
