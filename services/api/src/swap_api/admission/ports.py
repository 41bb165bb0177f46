"""What admission needs: keys, tokens, counters and idempotency keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_api.admission.decide.pay_links import LinkRight
from swap_api.admission.decide.rate_limits import Count, Quota
from swap_api.model.keys import Caller
from swap_api.model.members import Actor


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to answer a request with an idempotency key."""

    app_id: UUID  # or who else owns the key: see `domain.keys.idempotency_owner`
    key: str
    body_hash: bytes
    token: UUID


@dataclass(frozen=True, slots=True)
class Replay:
    """The first answer to the same request."""

    answer: bytes


class Callers(Protocol):
    async def find(self, key: str) -> Caller | None:
        """Return whose key it is; None when it is unknown or revoked.

        :raises Unavailable: when that cannot be looked up.
        """
        ...

    def recall(self, key: str) -> Caller | None:
        """Return whose key it was when it was last looked up, however long ago."""
        ...


class AccessTokens(Protocol):
    async def identify(self, token_hash: bytes, at: datetime) -> Actor | None:
        """Return whose token it is; None when it is unknown, revoked, or ran out.

        :raises Unavailable: when that cannot be looked up.
        """
        ...


class Counters(Protocol):
    async def add(self, quotas: Sequence[Quota]) -> Sequence[Count]:
        """Count a request in all of the quotas, or in none when it is too much for one of them.

        Never raises, and answers in bounded time.
        """
        ...


class Idempotency(Protocol):
    async def claim(self, claim: Claim) -> Replay | None:
        """Take the right to answer, or return the first answer.

        :raises ApiRefusal: when another body used the key, or the first request still runs.
        """
        ...

    async def begin(self, claim: Claim) -> None:
        """Let nobody else do what the claim is for, even if this process dies in the middle.

        Who asks again later is given an empty answer, unless one was saved.

        :raises ApiRefusal: when the claim was lost meanwhile.
        """
        ...

    async def save(self, claim: Claim, swap_id: UUID | None, answer: bytes) -> None:
        """Keep what was answered, about a swap perhaps, if the claim was not lost meanwhile."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give the right back where nothing was created; what was answered stays.

        Where that is not possible now, the right ends by itself a little later.
        """
        ...


class LinkTokens(Protocol):
    """Makes the tokens of links, and reads them."""

    def make(self, swap_id: UUID, right: LinkRight) -> str: ...

    def right_of(self, swap_id: UUID, token: str) -> LinkRight | None:
        """Return what a token permits with the swap; None when it is not a token of the swap."""
        ...
