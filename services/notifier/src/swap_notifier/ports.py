"""What the notifier needs of the world, in its own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from swap_notifier.domain.endpoints import Endpoint, SecretStorage
from swap_notifier.domain.outcomes import Answer, Claimed, DisabledReason, Outcome
from swap_notifier.domain.queue import QueueState


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one swap, rendered: what every endpoint of the app is told of it."""

    app_id: UUID
    swap_id: UUID
    sequence: int
    event_type: str
    changed_at: datetime
    body: bytes


class Work(Protocol):
    """One transaction of the consumer."""

    @property
    def created(self) -> int:
        """How many messages are new, known once the transaction is over."""
        ...

    async def mark_seen(self, message_ids: Sequence[UUID]) -> frozenset[UUID]: ...

    async def find_audience(
        self, app_ids: Collection[UUID], *, kept_from: datetime
    ) -> Mapping[UUID, bool]:
        """Return the apps that have an endpoint, and whether one of those wants updates.

        One that was disabled before `kept_from` is none.
        """
        ...

    async def add_messages(
        self, changes: Sequence[Change], *, at: datetime, kept_from: datetime
    ) -> None:
        """Add one message per change and endpoint that wants it, and say that there are some.

        For an endpoint that is disabled it is kept, to be replayed, and not sent.
        """
        ...


class UnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[Work]: ...


class Deliveries(Protocol):
    async def claim(
        self,
        *,
        at: datetime,
        until: datetime,
        claim: UUID,
        free: int,
        allowances: Mapping[UUID, int],
        first_allowance: int,
    ) -> Sequence[Claimed]:
        """Take what is due, in turns between the endpoints; nobody else takes it before `until`."""
        ...

    async def record(self, outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
        """Write down attempts and what follows from them; of a claim that was lost, nothing.

        Return them as they were written: an endpoint that was heard from is not disabled.
        """
        ...


class Sender(Protocol):
    async def send(self, claimed: Claimed, *, at: datetime) -> Answer:
        """Make one attempt. Whatever goes wrong is in the answer."""
        ...


class NameUnknown(Exception):
    """A host name leads nowhere."""


class Names(Protocol):
    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """
        :raises NameUnknown: when there are none.
        """
        ...


class TooMany(Exception):
    """The app has as many endpoints as it may."""


class DisabledByOperator(Exception):
    """An operator disabled the endpoint, and only an operator enables it again."""


class Endpoints(Protocol):
    async def add(self, endpoint: Endpoint, *, secret: str, most: int | None = None) -> None:
        """
        :param most: how many its app may have; None where an operator adds it.
        :raises TooMany: when its app has so many already.
        :raises DisabledByOperator: when an operator disabled one of the app with the same URL.
        """
        ...

    async def list_endpoints(self, app_id: UUID | None) -> Sequence[Endpoint]: ...

    async def find(self, endpoint_id: UUID) -> Endpoint | None: ...

    async def rotate(
        self, endpoint_id: UUID, *, secret: str, at: datetime, until: datetime
    ) -> bool:
        """Give it a new secret; the present one signs beside it `until` then.

        The one before that signs on too, as long as was said when it was replaced.
        """
        ...

    async def disable(self, endpoint_id: UUID, *, reason: DisabledReason, at: datetime) -> bool:
        """Stop sending to it; what waits for it is discarded, what is under way ends.

        Of one that is disabled already the reason stays, unless an operator's takes its place.
        Endpoints of its app that want notices are told.
        """
        ...

    async def enable(
        self, endpoint_id: UUID, *, at: datetime, undoes_operator: bool = True
    ) -> bool:
        """Send to it what happens from now on; what waited for it meanwhile is discarded.

        :raises DisabledByOperator: when an operator disabled it and an owner enables it.
        """
        ...

    async def remove(
        self, endpoint_id: UUID, *, reason: DisabledReason, at: datetime, undoes_operator: bool
    ) -> bool:
        """Send nothing more to it, and show it to nobody.

        :param reason: why it is disabled, unless it is already.
        :raises DisabledByOperator: as `enable` does.
        """
        ...

    async def seal_anew(self, *, limit: int) -> int:
        """Seal with the first key what something else sealed; return how many endpoints'."""
        ...

    async def count_secrets(self) -> Mapping[SecretStorage, int]: ...


class OtherClock(Protocol):
    async def now(self) -> datetime:
        """Return what the machine that keeps the data takes for the time."""
        ...


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted."""

    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A part of a list of messages."""

    messages: Sequence[Mapping[str, Any]]
    total: int  # counted up to a bound
    has_more: bool


class Messages(Protocol):
    async def add_test(
        self, endpoint_id: UUID, *, message_id: str, body: bytes, at: datetime
    ) -> bool:
        """Add a message about no swap, if the endpoint is enabled."""
        ...

    async def find(self, message_id: str) -> Mapping[str, Any] | None:
        """Return one with its body and its latest attempts: headers and bodies of both sides."""
        ...

    async def list_of_endpoint(
        self, endpoint_id: UUID, window: Window, *, since: datetime, undelivered_only: bool
    ) -> Listed:
        """Return what waits for it, by when it is due, then what ended since, newest end first."""
        ...

    async def list_of_swap(
        self, swap_id: UUID, *, app_id: UUID | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Return a swap's messages, oldest first, each with its attempts.

        :param app_id: whose they must be; None where an operator asks.
        """
        ...

    async def count(self, app_id: UUID, *, since: datetime) -> Sequence[Mapping[str, Any]]:
        """Return for each endpoint of an app how many messages got through since then."""
        ...

    async def replay(self, message_id: str, *, at: datetime) -> bool:
        """Make it due again if its endpoint is enabled."""
        ...

    async def replay_since(
        self,
        endpoint_id: UUID,
        *,
        since: datetime,
        undelivered_only: bool,
        at: datetime,
        limit: int,
    ) -> int | None:
        """Make due again some of what was made since and ended before `at`; return how many.

        None when the endpoint is unknown or disabled.
        """
        ...

    async def queue_state(self, *, at: datetime) -> QueueState:
        """Return how late the first due delivery is, and which endpoints fail. Locks nothing."""
        ...

    async def discard(self, *, at: datetime) -> int:
        """End what waits for disabled endpoints and is not under way; return how many."""
        ...

    async def forget(self, *, before: datetime, limit: int) -> int:
        """Delete what ended before then, at most so many; return how many."""
        ...
