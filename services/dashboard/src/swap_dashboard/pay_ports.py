"""What the pay page needs from the outside."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Payer:
    """The holder of a pay link: the token of the link, and the address that requests are counted
    by.
    """

    swap_id: str
    token: str
    address: str


@dataclass(frozen=True, slots=True)
class ReadSwap:
    """An answer of the api as it came: bytes and tag, or only that it has not changed."""

    content: bytes
    tag: str
    is_unchanged: bool = False


class PayApi(Protocol):
    """The api as the holder of a pay link may use it."""

    async def swap(self, payer: Payer) -> Mapping[str, Any]:
        """
        :raises ApiRefused: when the link opens nothing.
        :raises ApiUnavailable: when the api does not answer.
        """
        ...

    async def read(self, payer: Payer, *, source_address: str, known_tag: str) -> ReadSwap:
        """Return the swap as the api renders it, with the action for one wallet.

        :raises ApiRefused: when the api refuses.
        :raises ApiUnavailable: when it does not answer.
        """
        ...

    async def post(self, payer: Payer, what: str, body: Mapping[str, Any]) -> Any:
        """
        :raises ApiRefused: when the api refuses.
        :raises ApiUnavailable: when it does not answer; the outcome is unknown.
        """
        ...

    def events(self, payer: Payer, last_event_id: str) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events as they come.

        :raises ApiRefused: when the link opens nothing.
        :raises ApiUnavailable: when the api does not answer.
        """
        ...
