"""Takes up new deposit addresses: what came to them before is found, what comes is followed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.targets import PostgresTargets
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.domain.decide import decide_found
from swap_chain_watcher.domain.deposit_addresses import Target
from swap_chain_watcher.domain.evidence import EvidenceQuery
from swap_chain_watcher.domain.movement_mapping import senders, subjects, to_movement
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.watch import Watch
from swap_chains.errors import ChainError
from swap_chains.events import BlockAdded
from swap_chains.ports import ChainReader
from swap_runtime.clock import Clock

# Our clock and a chain's may differ by so much.
CLOCK_MARGIN: Final = timedelta(minutes=5)
FIRST_STEP_BLOCKS: Final = 32
BATCH_MAX: Final = 500


class FollowedAddresses:
    """The addresses that a reader is queried about; new ones are added."""

    def __init__(self, targets: PostgresTargets, network: str, watched: set[str]) -> None:
        self._targets = targets
        self._network = network
        self._position = 0
        self.watched = watched

    async def refresh(self) -> None:
        for position, address in await self._targets.list_active(
            self._network, after=self._position
        ):
            self.watched.add(address)
            self._position = position


class ActivateTargets:
    """Between two streams of a follower: what the next one reads includes the new addresses.

    Coins need no search: they are counted with the next block.
    """

    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        targets: PostgresTargets,
        reader: ChainReader,
        *,
        addresses: FollowedAddresses,
        policy: Policy,
        clock: Clock,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._targets = targets
        self._reader = reader
        self._addresses = addresses
        self._policy = policy
        self._clock = clock

    async def __call__(self, watch: Watch, *, epoch: int) -> Watch:
        """Return the watch with what was found.

        What cannot be read now stays new, and is tried again before the next stream.

        :raises CursorMoved: when the watch is not the stored one.
        :raises LeaseLost: when another follows the network now.
        """
        await self._addresses.refresh()
        new = await self._targets.new(watch.network, limit=BATCH_MAX)
        if not new:
            return watch
        # First of all: whatever is read from now on has them.
        self._addresses.watched.update(target.address.lower() for target in new)
        try:
            found = await self._search(watch, new)
        except ChainError as error:
            observe.targets_deferred(watch.network, len(new), error)
            return watch
        return await self._commit(watch, new, found, epoch=epoch)

    async def _search(self, watch: Watch, new: Sequence[Target]) -> Sequence[BlockAdded]:
        since = min(target.since for target in new) - CLOCK_MARGIN
        first, step = watch.cursor, FIRST_STEP_BLOCKS
        lowest = self._policy.network.start_block
        while first.time > since and first.number > lowest:
            first = await self._reader.block_at(max(first.number - step, lowest))
            step *= 2
        addresses = [target.address for target in new]
        return await self._reader.movements(first=first.number, last=watch.cursor, to=addresses)

    async def _commit(
        self, watch: Watch, new: Sequence[Target], found: Sequence[BlockAdded], *, epoch: int
    ) -> Watch:
        network = watch.network
        query = EvidenceQuery.of(
            self._policy, watch.open.values(), has_deposits=bool(found), at=self._clock()
        )
        async with self._unit_of_work() as work:
            known, targets, evidence = await work.lock_cursor(
                watch,
                epoch=epoch,
                subjects=subjects(network, found),
                senders=senders(found),
                evidence=query,
            )
            movements = [
                movement
                for added in found
                for fact in added.movements
                if (movement := to_movement(added.block, fact, self._policy, targets)) is not None
            ]
            stored = await work.stored_ids(network, [movement.id for movement in movements])
            step = decide_found(
                watch,
                [movement for movement in movements if movement.id not in stored],
                policy=self._policy,
                known=known,
                evidence=evidence,
            )
            await work.add_found(step, at=self._clock())
            await work.mark_activated(network, [target.address for target in new])
        observe.targets_activated(network, len(new), len(step.new_movements))
        return step.after
