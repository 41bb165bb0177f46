"""What the status page needs from the outside."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from swap_dashboard.domain.status import Incident, NetworkStatus, StatusDay, Trouble


class StatusApi(Protocol):
    """The public part of the api."""

    async def networks(self) -> Sequence[NetworkStatus]:
        """
        :raises ApiUnavailable: when the api does not answer.
        """
        ...


class StatusHistory(Protocol):
    """What was seen, stored once a minute by whichever replica comes first."""

    async def record(self, seen: Mapping[str, Collection[Trouble]], at: datetime) -> None:
        """Count the minute, begin incidents that are new, and end those that are over."""
        ...

    async def days(self, since: datetime) -> Sequence[StatusDay]: ...

    async def incidents(self, since: datetime) -> Sequence[Incident]:
        """Return those that are open or ended since then, the newest first."""
        ...

    async def forget(self, before: datetime) -> None: ...
