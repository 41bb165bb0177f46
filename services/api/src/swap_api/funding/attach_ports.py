"""What attaching a transfer to a swap needs from the outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_api.funding.decide.attaching import UnmatchedTransfer
from swap_chains.evm.personal_signatures import WalletAnswer
from swap_domain.attaching import Destined
from swap_domain.catalogue import Network
from swap_runtime.messaging.outbox import Outgoing


class UnmatchedTransfers(Protocol):
    """What came without the name of a swap, as the settler publishes it."""

    async def destined(self, swap_id: UUID) -> Destined | None: ...

    async def of_transaction(
        self, swap_id: UUID, network: str, transaction_hash: str
    ) -> Sequence[UnmatchedTransfer]: ...

    async def submit(
        self,
        swap_id: UUID,
        deposit_id: UUID,
        message: Callable[[int], Outgoing],
        *,
        now: datetime,
    ) -> bool:
        """Take a signature with its message, all or nothing; False when there are too many.

        What was taken a moment ago is not told again, and that is no refusal.

        :param message: makes it, given how often this was submitted.
        """
        ...


class Wallets(Protocol):
    """Wallets with code, on their chains."""

    async def ask(
        self, network: Network, wallet: str, digest: bytes, signature: bytes
    ) -> WalletAnswer:
        """Ask the code at an address whether a signature is its own.

        :raises Unavailable: when no node answers, or two providers do not report the same.
        """
        ...
