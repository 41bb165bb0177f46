"""What the dashboard needs from the outside, in its own words."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from swap_dashboard.domain.refusals import RefusedRequest

Clock = Callable[[], datetime]
NewId = Callable[[], UUID]
NewToken = Callable[[], str]


class EmailTaken(Exception):
    """There is an account of this email already."""


class ApiUnavailable(Exception):
    """The api does not answer, or answers that it cannot now."""


class ApiRefused(RefusedRequest):
    """The api refuses a member's request."""

    def __init__(
        self, status: int, code: str, message: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.metadata: Mapping[str, Any] = metadata or {}

    def __str__(self) -> str:
        """Return the text for logs: it has the code, too."""
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What the api answers: the data, and where it is a part of a list, how many there are."""

    data: Any
    total: int | None = None
    has_more: bool = False
    next: str = ""  # the place that the next part begins behind, where the api names one


@dataclass(frozen=True, slots=True)
class MemberToken:
    """A member's access token before it is sealed."""

    text: str
    id: UUID
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """What an invitation is for, before it is accepted."""

    organization_name: str
    name: str  # who is invited: an email, or a free name
    role: str
    invited_by: str | None  # None: an operator of this service
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewMembership:
    """What an accepted invitation gives."""

    id: UUID
    organization_id: UUID
    organization_name: str
    member_id: UUID
    token: MemberToken


class MemberApi(Protocol):
    """The api as one member may use it."""

    async def get(self, path: str, query: Mapping[str, Any] | None = None) -> ApiAnswer:
        """
        :raises ApiRefused: when the api refuses.
        :raises ApiUnavailable: when it does not answer.
        """
        ...

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> ApiAnswer:
        """Send an order, once.

        :raises ApiRefused: when the api refuses.
        :raises ApiUnavailable: when it does not answer; the outcome is unknown.
        """
        ...

    def stream(
        self, path: str, last_event_id: str, query: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events as they come.

        :raises ApiRefused: when the api refuses.
        :raises ApiUnavailable: when it does not answer.
        """
        ...


class BenchUnavailable(Exception):
    """The test bench does not answer."""


class BenchRefused(Exception):
    """The test bench does not accept an app's key; the text has the reason."""


@dataclass(frozen=True, slots=True)
class BenchOutcome:
    """What becomes of a test swap with a certain recipient."""

    name: str
    recipient: str
    does: str
    ends: str
    needs: str  # empty where nothing is needed
    gasless: bool | None = None  # whether it needs a signature, or none; None: either
    source_token: str = ""
    amount_min: int = 0
    destination_tokens: Sequence[str] = ()  # empty: any
    refund_address: bool = False


@dataclass(frozen=True, slots=True)
class BenchFacts:
    """What the test bench offers."""

    outcomes: Sequence[BenchOutcome]
    lifetime_seconds: int  # for a swap that needs an early deadline
    receiver_url: str  # accepts every webhook
