"""Every status a shown transaction can have and every move between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class TransactionStatus(StrEnum):
    PENDING = "pending"  # decided, not sent
    INITIATED = "initiated"  # on its way: sent, or seen and not final
    COMPLETED = "completed"  # final


class TransactionTrigger(StrEnum):
    SENT = "sent"  # by us; a deposit begins as initiated
    FINAL = "final"
    UNMINED = "unmined"  # a reorg took it; what we sent is sent again


TRANSITIONS: Final[Mapping[tuple[TransactionStatus, TransactionTrigger], TransactionStatus]] = (
    MappingProxyType({
        (TransactionStatus.PENDING, TransactionTrigger.SENT): TransactionStatus.INITIATED,
        (TransactionStatus.INITIATED, TransactionTrigger.UNMINED): TransactionStatus.INITIATED,
        (TransactionStatus.INITIATED, TransactionTrigger.FINAL): TransactionStatus.COMPLETED,
    })
)  # fmt: skip
