"""How a transaction begins that takes a batch of messages: with one question for all of it.

The messages are marked, and what they are about is held and loaded, of all of them: which were seen
before is only known by the answer, and what is held for those is left as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.swap import Deposit, Swap

PaymentKey = tuple[str, int]  # network, paid_id


@dataclass(frozen=True, slots=True)
class OpenedDeposits:
    fresh: frozenset[UUID]  # the messages that were not seen before
    swaps: Mapping[str, Swap]  # by match key
    held: frozenset[UUID] = frozenset()  # those of the swaps that a recovery holds


@dataclass(frozen=True, slots=True)
class OpenedPayouts:
    fresh: frozenset[UUID]
    owners: Mapping[PaymentKey, UUID]  # the swaps whose live intents have these ids
    standalone_intents: Mapping[PaymentKey, UUID]  # the live intents of no swap


@dataclass(frozen=True, slots=True)
class OpenedRequests:
    fresh: frozenset[UUID]
    swaps: Mapping[UUID, Swap]
    waiting: Mapping[UUID, Deposit]  # without a swap


class BatchWork(Protocol):
    """Messages are put into the inbox; keys are held until the end, swaps with their intents.

    An intent comes with the attempts that were committed before its lock was got.
    """

    async def open_deposits(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        deposit_ids: Collection[UUID],
        assets: Collection[AssetKey] = (),
    ) -> OpenedDeposits:
        """Hold the keys, and load the swaps of them and those that have the deposits.

        Who creates a swap waits for who brings its deposit. A deposit's own key is among the keys:
        it is not attached meanwhile.

        :param assets: that the deposits move. Where there are some, the inventory of them and of
            the swaps is locked too, so that `lock_inventory` has it at hand.
        """
        ...

    async def open_payouts(
        self, message_ids: Sequence[UUID], *, payments: Collection[PaymentKey]
    ) -> OpenedPayouts:
        """Find whose payments have these ids at the Treasury. Locks nothing but the messages."""
        ...

    async def open_requests(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        swap_ids: Collection[UUID],
        deposit_ids: Collection[UUID],
    ) -> OpenedRequests:
        """Hold the keys, and load these swaps, and the deposits without one.

        Those are the deposits with one of the ids or one of the keys.
        """
        ...
