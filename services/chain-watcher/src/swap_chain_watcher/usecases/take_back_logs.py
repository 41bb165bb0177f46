"""Reverts published logs that every provider denies, when an operator orders it.

A reorg is another thing: `advance_watch.py` stores it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork, PostgresWork
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.evidence import EvidenceQuery
from swap_chain_watcher.domain.movement_mapping import senders, subjects
from swap_chain_watcher.domain.movements import State, TrackedMovement
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.take_back import (
    ReportedBlock,
    TakeBackRefused,
    decide_reverts,
    find_replacements,
    find_taken_back,
)
from swap_chain_watcher.domain.watch import NotHalted
from swap_chain_watcher.usecases.activate_targets import FollowedAddresses
from swap_chains.events import Block, BlockAdded
from swap_chains.ports import ChainReader
from swap_runtime.clock import Clock
from swap_runtime.errors import RequestRefused


class TakeBackLogs:
    """The way out of a halt by a node's false reports, once the node is out of the configuration.

    Every configured provider is queried, outside any transaction. A liar alone takes back nothing:
    the others still report what is real.
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
        :param addresses: those that the reader is queried about.
        """
        self._unit_of_work = unit_of_work
        self._watches = watches
        self._reader = reader
        self._policy = policy
        self._clock = clock
        self._addresses = addresses

    async def __call__(self, transaction_hashes: Sequence[str]) -> frozenset[str]:
        """Publish that the transactions' denied logs are `reverted`, all of them or none.

        What was taken back before is left as it is, so that the order can be repeated. Return the
        transactions with movements that are taken back now.

        :param transaction_hashes: in lower case.
        :raises RequestRefused: when one has no published log, or not every provider denies it.
        """
        network = self._reader.network
        published = await self._list_published(transaction_hashes)
        standing = [tracked for tracked in published if tracked.state is not State.REVERTED]
        await self._addresses.refresh()
        blocks = await self._ask(standing)
        try:
            denied = [
                tracked
                for transaction_hash in transaction_hashes
                for tracked in find_taken_back(
                    [t for t in published if t.movement.transaction_hash == transaction_hash],
                    blocks,
                    self._policy,
                    watched=self._addresses.watched,
                )
            ]
            if not denied:
                return frozenset()
            async with self._unit_of_work() as work:
                reverted, replacements = await self._take_back(
                    work, denied, standing, blocks, ordered=transaction_hashes
                )
        except TakeBackRefused as error:
            raise RequestRefused(f"{network}: nothing is taken back: {error}") from error
        except NotHalted as error:
            raise RequestRefused(f"{network} is not halted") from error
        observe.logs_taken_back(network, reverted, replacements)
        return frozenset(tracked.movement.transaction_hash or "" for tracked in denied)

    async def _list_published(self, transaction_hashes: Sequence[str]) -> Sequence[TrackedMovement]:
        """Return the logs that were published, also those that were taken back before.

        :raises RequestRefused: when a transaction has no log that was ever published.
        """
        network = self._reader.network
        found = await self._watches.list_logs(network, transaction_hashes)
        known = {tracked.movement.transaction_hash for tracked in found}
        for transaction_hash in transaction_hashes:
            if transaction_hash not in known:
                raise RequestRefused(f"no log of {transaction_hash} is published on {network}")
        return found

    async def _ask(self, standing: Sequence[TrackedMovement]) -> Mapping[str, ReportedBlock]:
        """Return what every provider reports of the blocks, by hash."""
        blocks = {t.movement.block.hash: t.movement.block for t in standing}
        reported_blocks = await asyncio.gather(
            *(self._ask_about(block, standing) for block in blocks.values())
        )
        return {reported.block.hash: reported for reported in reported_blocks}

    async def _ask_about(self, block: Block, standing: Sequence[TrackedMovement]) -> ReportedBlock:
        hashes = {
            t.movement.transaction_hash
            for t in standing
            if t.movement.block.hash == block.hash and t.movement.transaction_hash is not None
        }
        reports = await self._reader.block_of_each_provider(block, transaction_hashes=hashes)
        added = [BlockAdded(block, report.movements or ()) for report in reports]
        async with self._unit_of_work() as work:
            context = await work.load_context(
                self._reader.network, subjects=(), senders=senders(added)
            )
        return ReportedBlock(block, tuple(reports), context.targets)

    async def _take_back(
        self,
        work: PostgresWork,
        denied: Sequence[TrackedMovement],
        standing: Sequence[TrackedMovement],
        blocks: Mapping[str, ReportedBlock],
        *,
        ordered: Collection[str],
    ) -> tuple[Sequence[TrackedMovement], Sequence[TrackedMovement]]:
        """
        :raises NotHalted: when the network was resumed meanwhile.
        :raises TakeBackRefused: when something was published of a log since the providers' answers.
        """
        network, at = self._reader.network, self._clock()
        named = {t.movement.transaction_hash or "" for t in standing}
        locked = await work.lock_logs(network, named)
        if {t.key: t for t in locked if t.state is not State.REVERTED} != {
            t.key: t for t in standing
        }:
            raise TakeBackRefused("a log changed since the providers were asked: order it again")
        hashes = {t.movement.transaction_hash or "" for t in denied}
        stored = await work.load_blocks(network, {t.movement.block.hash for t in denied}, hashes)
        reported = [
            BlockAdded(one.block, report.movements or ())
            for one in blocks.values()
            for report in one.reports
        ]
        context = await work.load_context(
            network,
            subjects=subjects(network, reported) | {t.movement.subject for t in denied},
            evidence=EvidenceQuery.of(self._policy, (), has_deposits=True, at=at),
        )
        known = dict(context.known)
        changes = decide_reverts(denied, standing, known, ordered=ordered)
        known |= changes.known
        replacements = find_replacements(
            [*changes.reverted, *changes.silent],
            blocks,
            self._policy,
            stored=stored,
            known=known,
            evidence=context.evidence,
        )
        await work.take_back_logs(
            network,
            changes.reverted,
            replacements,
            silent=changes.silent,
            restated=changes.restated,
            at=at,
        )
        return [*changes.reverted, *changes.silent], replacements
