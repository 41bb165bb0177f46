"""Verifies deposits and payouts that one provider has reported with a second one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.evidence import Key
from swap_chain_watcher.domain.movement_mapping import senders, to_movement
from swap_chain_watcher.domain.movements import FROM_THE_START, Kind, Movement, UnverifiedMovement
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.second_look import is_reported_alike
from swap_chain_watcher.usecases.activate_targets import FollowedAddresses
from swap_chains.errors import ChainError
from swap_chains.events import Block, BlockAdded
from swap_chains.ports import ChainReader, Holding
from swap_domain.catalogue import NATIVE
from swap_runtime.clock import Clock

BATCH_MAX: Final = 100


class VerifyDeposits:
    """Verifies deposits and payouts beside the follower, which never waits for it.

    What needs no second provider is not slowed. A deposit that the second provider does not report
    stays unverified and is queried again. When its block is final, the second look decides what
    that means.
    """

    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        watches: PostgresWatches,
        reader: ChainReader,
        *,
        policy: Policy,
        clock: Clock,
        addresses: FollowedAddresses,
    ) -> None:
        """
        :param reader: a reader with `needs_two`: a balance counts only if two providers report it.
        """
        self._unit_of_work = unit_of_work
        self._watches = watches
        self._reader = reader
        self._policy = policy
        self._clock = clock
        self._addresses = addresses
        self._after = FROM_THE_START

    async def __call__(self) -> bool:
        """Verify some deposits and payouts, and return whether there are more to look at now."""
        network = self._reader.network
        found = await self._watches.list_unverified(network, after=self._after, limit=BATCH_MAX)
        has_more = len(found) == BATCH_MAX
        self._after = found[-1].movement.place if has_more else FROM_THE_START
        if not found:
            observe.deposits_verified(network, 0, of=0)
            return False
        await self._addresses.refresh()
        rises = [one.movement for one in found if one.movement.kind is Kind.BALANCE_ROSE]
        logs = [one for one in found if one.movement.kind is not Kind.BALANCE_ROSE]
        verified = await asyncio.gather(
            self._verify_rises(rises), *(self._verify_block(group) for group in _by_block(logs))
        )
        keys = [key for some in verified for key in some]
        if keys:
            async with self._unit_of_work() as work:
                await work.verify(network, keys, at=self._clock())
        observe.deposits_verified(network, len(keys), of=len(found))
        return has_more

    async def _verify_block(self, stored: Sequence[UnverifiedMovement]) -> Sequence[Key]:
        """Return which deposits and payouts of one block another provider reports alike.

        :param stored: those of one block that one provider has reported.
        """
        network, block = self._reader.network, stored[0].movement.block
        provider = stored[0].provider
        # Movements stored before providers were recorded name no provider; none can be excluded.
        if provider is None:
            return ()
        try:
            found = await self._reader.movements(
                first=block.number, last=block, excluded_providers={provider}
            )
        except ChainError as error:
            observe.verification_failed(network, error)
            return ()
        reported = await self._to_movements(found)
        return [
            one.movement.key
            for one in stored
            if any(is_reported_alike(one.movement, movement) for movement in reported)
        ]

    async def _to_movements(self, found: Sequence[BlockAdded]) -> Sequence[Movement]:
        async with self._unit_of_work() as work:
            targets = (
                await work.load_context(self._reader.network, subjects=(), senders=senders(found))
            ).targets
        facts = [(added.block, fact) for added in found for fact in added.movements]
        movements = [to_movement(block, fact, self._policy, targets) for block, fact in facts]
        return [movement for movement in movements if movement is not None]

    async def _verify_rises(self, stored: Sequence[Movement]) -> Sequence[Key]:
        """Return which rises of coins two providers confirm: so much has come, in all.

        They are queried at the newest block, because every node has its state. Blocks of a rise may
        be too old for that.
        """
        if not stored:
            return ()
        network = self._reader.network
        at = await self._newest_block()
        if at is None:
            return ()
        holdings = {m.to_address: Holding(m.to_address, NATIVE) for m in stored}
        try:
            held = await self._reader.balances(holdings.values(), at=at)
        except ChainError as error:
            observe.verification_failed(network, error)
            return ()
        async with self._unit_of_work() as work:
            swept = await work.load_swept_coins(network, holdings)
        totals = {address: held[holding] + swept[address] for address, holding in holdings.items()}
        return [rise.key for rise in stored if totals[rise.to_address] >= rise.total_after]

    async def _newest_block(self) -> Block | None:
        watch = await self._watches.load(self._reader.network)
        return None if watch is None else watch.cursor


def _by_block(stored: Sequence[UnverifiedMovement]) -> Sequence[Sequence[UnverifiedMovement]]:
    """Group by block and provider."""

    def place(one: UnverifiedMovement) -> tuple[int, str, str]:
        block = one.movement.block
        return block.number, block.hash, one.provider or ""

    return [list(group) for _, group in groupby(sorted(stored, key=place), key=place)]
