"""What the console needs from the outside: the operators' interface of each service."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class ServiceName(StrEnum):
    """The services with an interface for operators."""

    SETTLER = "settler"
    CHAIN_WATCHER = "chain_watcher"
    API = "api"
    QUOTER = "quoter"
    NOTIFIER = "notifier"
    DASHBOARD = "dashboard"

    @property
    def shown(self) -> str:
        return self.value.replace("_", "-")


class ServiceUnavailable(Exception):
    """A service does not answer, or answers that it cannot now."""

    def __init__(self, service: ServiceName) -> None:
        super().__init__(f"{service.shown} does not answer")
        self.service = service


class ServiceRefused(Exception):
    """A service refuses an operator's request; the text is the service's."""

    def __init__(self, service: ServiceName, status: int, words: str) -> None:
        super().__init__(words)
        self.service = service
        self.status = status


class TokenRefused(Exception):
    """The operator's token opens nothing any more: expired, deactivated or removed."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The token's operator, from the services."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """What a service answers to an order that it took."""

    content: Mapping[str, Any]
    proposal: Mapping[str, Any] | None = None  # where it waits for a second operator


class OperatorApi(Protocol):
    """The services, as one operator may use them. Holds the operator's token and nothing else."""

    @property
    def services(self) -> Collection[ServiceName]:
        """Return the services of this deployment: one without a dashboard has five."""
        ...

    async def get(
        self,
        service: ServiceName,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        is_slow: bool = False,
    ) -> Mapping[str, Any]:
        """
        :raises TokenRefused: when the token opens nothing any more.
        :raises ServiceRefused: when the service refuses.
        :raises ServiceUnavailable: when it does not answer.
        """
        ...

    async def order(self, service: ServiceName, path: str, body: Mapping[str, Any]) -> OrderAnswer:
        """Send an order, once.

        :raises TokenRefused: when the token opens nothing any more; nothing was done.
        :raises ServiceRefused: when the service refuses; nothing was done.
        :raises ServiceUnavailable: when it does not answer; it may have been carried out.
        """
        ...
