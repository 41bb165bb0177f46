from __future__ import annotations

from uuid import UUID

from swap_api import observe
from swap_api.model.keys import Caller
from swap_api.model.refusals import NotFound
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.swaps.store.hints import PostgresHints
from swap_contracts.deposits import DepositHinted
from swap_contracts.topics import DEPOSIT_HINTED
from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_runtime.messaging.outbox import Outgoing


class SpeedUpDeposit:
    """Make the watcher look up a transaction that is named as a payment for a swap.

    It is a hint and no more: what is not there yet is found when it comes, as without it. One
    transaction is published once, and a few of one swap.
    """

    def __init__(self, swaps: PostgresSwaps, hints: PostgresHints, *, clock: Clock) -> None:
        self._swaps = swaps
        self._hints = hints
        self._clock = clock

    async def __call__(self, caller: Caller, swap_id: UUID, transaction_hash: str) -> None:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        """
        network = await self._swaps.source_network(caller.app_id, swap_id)
        if network is None:
            raise NotFound
        normalised_hash = transaction_hash.lower()
        envelope = DEPOSIT_HINTED.seal(
            DepositHinted(network=network, transaction_hash=normalised_hash),
            version=f"{swap_id}/{normalised_hash}",
            occurred_at=self._clock(),
            trace_id=trace_id_of(swap_id),
        )
        outgoing = Outgoing.of(DEPOSIT_HINTED, envelope)
        is_sent = await self._hints.add(swap_id, normalised_hash, outgoing)
        observe.deposit_hinted(swap_id, network, is_sent=is_sent)
