"""Limits of what members may create, so that apps do not multiply their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from swap_api.model.members import Actor
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode


class CountedKind(StrEnum):
    """What is counted, by the name of the setting."""

    APPS = "apps_per_organization"
    MEMBERS = "members_per_organization"
    KEYS = "keys_per_app"
    WEBHOOKS = "webhooks_per_app"
    TOKENS = "tokens_per_member"


MESSAGES: Final = {
    CountedKind.APPS: "An organization may have {most} apps; "
    "ask the operator of this service for more",
    CountedKind.MEMBERS: "An organization may have {most} members, open invitations included; "
    "remove a member, or revoke an invitation",
    CountedKind.KEYS: "An app may have {most} open keys; revoke one first",
    CountedKind.WEBHOOKS: "An app may have {most} webhook endpoints; remove one first",
    CountedKind.TOKENS: "A member may have {most} open access tokens; revoke one first",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """How many of something there may be."""

    what: CountedKind
    most: int

    def refusal(self) -> ApiRefusal:
        return ApiRefusal(
            ErrorCode.LIMIT_REACHED,
            MESSAGES[self.what].format(most=self.most),
            metadata={"limit": self.what, "most": self.most},
        )

    def require(self, already: int, *, beyond: int = 0) -> None:
        """
        :param beyond: how many more there may be for a while.
        :raises ApiRefusal: when there is no room for one more.
        """
        if already >= self.most + beyond:
            raise self.refusal()


class Bounds:
    """The deployment's bounds. Operators may exceed them."""

    def __init__(self, most: Mapping[str, int]) -> None:
        self._bounds = {what: Bound(what, most[what]) for what in CountedKind}

    def of(self, what: CountedKind, actor: Actor) -> Bound | None:
        return None if actor.is_operator else self._bounds[what]
