"""The filter of a list of swaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final
from uuid import UUID

from swap_api.model.refusals import Invalid
from swap_domain.lifecycle import Status

PAGE_SIZE_MAX: Final = 100
# Further pages are still read; only the total stops being counted.
COUNTED_MAX: Final = 10_000

# Both vocabularies are understood: the one of answers, and the words many clients send.
WORDS: Final = MappingProxyType(
    {
        "PendingDeposit": Status.DEPOSIT_PENDING,
        "PendingWithdrawal": Status.PAYOUT_PENDING,
        "PendingRefund": Status.REFUND_PENDING,
        "Completed": Status.COMPLETED,
        "Failed": Status.FAILED,
        "Expired": Status.EXPIRED,
        "Refunded": Status.REFUNDED,
    }
)
STATUS_NAMES: Final = (*(status.value for status in Status), *WORDS)
STATUS_WORDS: Final = MappingProxyType(
    {
        **{status.value: status for status in Status},
        **{word.casefold(): status for word, status in WORDS.items()},
    }
)


@dataclass(frozen=True, slots=True)
class SwapFilter:
    """Which swaps of one app, newest first."""

    app_id: UUID
    page: int
    page_size: int
    addresses: tuple[str, ...] = ()  # lower case
    statuses: tuple[Status, ...] = ()
    include_expired: bool = False
    networks: tuple[str, ...] = ()
    reference_id: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    starting_after: UUID | None = None  # a swap of the list; the page begins behind it

    @property
    def hides_expired(self) -> bool:
        return not self.include_expired and Status.EXPIRED not in self.statuses

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.page_size


def to_statuses(words: Iterable[str]) -> tuple[Status, ...]:
    """
    :raises Invalid: for a word of neither vocabulary.
    """
    return tuple(dict.fromkeys(_status(word) for word in words))


def _status(word: str) -> Status:
    status = STATUS_WORDS.get(word.casefold())
    if status is None:
        raise Invalid.field("statuses", f"has an unknown value: {word[:40]}")
    return status
