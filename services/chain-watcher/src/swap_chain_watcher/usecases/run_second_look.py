"""Reads final blocks a second time, from another provider: adds what was missed, halts on a lie.

The provider of the first look is never queried again, even if all other nodes fail: it would
confirm its own report. The look then waits, and `swap_watch_second_look_failures_total` grows.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.evidence import EvidenceQuery
from swap_chain_watcher.domain.movement_mapping import movement_keys, senders, subjects
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.second_look import MovementsDenied, decide_missed
from swap_chain_watcher.domain.watch import BrokenChain, Halt, UncheckedRange
from swap_chain_watcher.usecases.activate_targets import FollowedAddresses
from swap_chains.errors import BlockDiffers, ChainError, FinalBlocksDiffer
from swap_chains.events import Block
from swap_chains.ports import ChainReader
from swap_runtime.clock import Clock


class RunSecondLook:
    """What is final cannot change under the follower: both write under the cursor's lock."""

    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        watches: PostgresWatches,
        reader: ChainReader,
        *,
        policy: Policy,
        clock: Clock,
        blocks_max: int,
        addresses: FollowedAddresses | None = None,
    ) -> None:
        """
        :param addresses: those that the reader is queried about, where there are any.
        """
        self._addresses = addresses
        self._unit_of_work = unit_of_work
        self._watches = watches
        self._reader = reader
        self._policy = policy
        self._clock = clock
        self._blocks_max = blocks_max
        self._has_second_provider = policy.has_second_provider
        self._denied_before: frozenset[UUID] = frozenset()

    async def __call__(self) -> bool:
        """Look at the next final blocks and say whether they are behind us now."""
        network = self._reader.network
        unchecked = await self._watches.find_unchecked(network)
        if unchecked is None:
            return False
        try:
            await self._compare_finality()
            if (last := await self._last_of(unchecked)) is None:
                return False
            await self._compare_blocks(unchecked.checked_number + 1, last)
        except (BlockDiffers, BrokenChain, FinalBlocksDiffer) as error:
            await self._handle_contradiction(error)
            return False
        except ChainError as error:
            observe.second_look_failed(network, error)
            return False
        except MovementsDenied as error:
            await self._handle_denial(error)
            return False
        self._denied_before = frozenset()
        return True

    async def check(self) -> None:
        """Look at all final blocks that were read once, of a network that is halted.

        All of them: what waits is paid for every block as soon as the network goes on.

        :raises ChainError: when no node answers, or another provider has another last block.
        :raises BrokenChain: when the node does not have those blocks.
        :raises MovementsDenied: when it lacks a published movement of them.
        """
        await self._compare_finality()
        while True:
            unchecked = await self._watches.find_unchecked(self._reader.network, is_halted=True)
            if unchecked is None or (last := await self._last_of(unchecked)) is None:
                return
            await self._compare_blocks(unchecked.checked_number + 1, last)

    async def _last_of(self, unchecked: UncheckedRange) -> Block | None:
        """Return the last block of the next look; None where nothing is left to look at."""
        after = unchecked.checked_number
        upto = min(unchecked.finalized_number, after + self._blocks_max)
        return await self._watches.find_one_provider_end(
            self._reader.network, after=after, upto=upto
        )

    async def _compare_finality(self) -> None:
        """
        :raises FinalBlocksDiffer: when two providers call different blocks of one height final.
        """
        if self._has_second_provider:
            await self._reader.final_block()

    async def _handle_contradiction(
        self, error: BlockDiffers | BrokenChain | FinalBlocksDiffer
    ) -> None:
        """Halt when two providers differ; a node alone differs from itself by a reorg."""
        network = self._reader.network
        observe.nodes_differed(network, error)
        if self._has_second_provider:
            await self._watches.halt(Halt(network, str(error), self._clock()))
            observe.network_halted(network, str(error))

    async def _handle_denial(self, error: MovementsDenied) -> None:
        """Halt at once on another node's word; a node alone may only have lost its index."""
        observe.movements_denied(error)
        denied = frozenset(movement.id for movement in error.denied)
        if not self._has_second_provider and not denied & self._denied_before:
            self._denied_before = denied
            return
        self._denied_before = frozenset()
        await self._watches.halt(Halt(error.network, str(error), self._clock()))
        observe.network_halted(error.network, str(error))

    async def _compare_blocks(self, first: int, last: Block) -> None:
        network, watched = self._reader.network, frozenset[str]()
        if self._addresses is not None:
            await self._addresses.refresh()
            watched = frozenset(self._addresses.watched)
        # A block without a provider was stored before providers were recorded.
        first_look = {last.provider} if self._has_second_provider and last.provider else set()
        found = await self._reader.movements(first=first, last=last, excluded_providers=first_look)
        async with self._unit_of_work() as work:
            stored = await work.load_stored(
                network,
                found,
                movement_keys(network, found),
                first=first,
                last=last.number,
            )
            query = EvidenceQuery.of(self._policy, (), has_deposits=True, at=self._clock())
            known, targets, evidence = await work.load_context(
                network,
                subjects=subjects(network, found),
                senders=senders(found),
                evidence=query,
            )
            missed = decide_missed(
                network,
                found,
                stored=stored,
                policy=self._policy,
                known=known,
                targets=targets,
                watched=watched,
                evidence=evidence,
            )
            if not first_look:
                missed = replace(missed, verified=())  # perhaps by the provider of the first look
            await work.add_missed(network, missed, at=self._clock(), checked_number=last.number)
        observe.second_look_done(network, missed, checked_number=last.number)
