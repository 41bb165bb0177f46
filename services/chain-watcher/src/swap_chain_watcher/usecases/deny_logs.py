"""Reverts published logs that two providers deny, and halts their network."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.domain.denials import (
    Denial,
    find_denied_logs,
    find_disproved_logs,
    without_superseded,
)
from swap_chain_watcher.domain.movement_mapping import senders
from swap_chain_watcher.domain.movements import State
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.second_look import LogReport, MovementsDenied
from swap_chain_watcher.ports import Halt, UnitOfWork, Watches
from swap_chain_watcher.usecases.activate_targets import FollowedAddresses
from swap_chains.events import Block
from swap_chains.ports import ChainReader
from swap_runtime.clock import Clock


class DenyLogs:
    """Asks every provider about the blocks in which a second look lacks what was published.

    The network could not be resumed while a false log stays published: the next look would lack it
    as well.
    """

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        watches: Watches,
        reader: ChainReader,
        *,
        policy: Policy,
        clock: Clock,
        blocks_max: int,
        addresses: FollowedAddresses | None = None,
    ) -> None:
        """
        :param addresses: those that the reader is asked about, where there are any.
        """
        self._unit_of_work = unit_of_work
        self._watches = watches
        self._reader = reader
        self._policy = policy
        self._clock = clock
        self._blocks_max = blocks_max
        self._addresses = addresses

    async def __call__(self) -> None:
        """Look at the next final blocks of a halted network, perhaps with other providers."""
        network = self._reader.network
        unchecked = await self._watches.find_unchecked(network, is_halted=True)
        if unchecked is None or not self._policy.has_second_provider:
            return
        after = unchecked.checked_number
        upto = min(unchecked.finalized_number, after + self._blocks_max)
        last = await self._watches.find_one_provider_end(network, after=after, upto=upto)
        if last is not None:
            await self._decide(after + 1, last)

    async def halt(self, error: MovementsDenied, *, first: int, last: Block) -> None:
        """Halt the network, and revert in the same transaction what two providers deny.

        :param first: with `last` the blocks that were read a second time.
        """
        await self._decide(first, last, error)

    async def _decide(self, first: int, last: Block, error: MovementsDenied | None = None) -> None:
        network, watched = self._reader.network, frozenset[str]()
        if self._addresses is not None:
            await self._addresses.refresh()
            watched = frozenset(self._addresses.watched)
        found = await self._reader.movements_of_each_provider(first=first, last=last)
        at = self._clock()
        async with self._unit_of_work() as work:
            published = await work.lock_published(network, first=first, last=last.number)
            recalled = await work.load_context(
                network,
                subjects={one.movement.subject for one in published},
                senders=frozenset().union(*map(senders, found.values())),
            )
            reports = {
                provider: LogReport.of(network, added, self._policy, recalled.targets)
                for provider, added in found.items()
            }
            denials = find_denied_logs(published, reports, policy=self._policy, watched=watched)
            reverted = [
                one.with_state(State.REVERTED) for one in find_disproved_logs(published, denials)
            ]
            if error is None and not reverted:
                return
            reason = _reason(network, error, denials)
            publications = without_superseded(reverted, recalled.known)
            await work.take_back(network, reverted, publications, halt=Halt(network, reason, at))
        observe.logs_reverted(network, reverted, denials)
        observe.network_halted(network, reason)


def _reason(network: str, error: MovementsDenied | None, denials: Sequence[Denial]) -> str:
    text = str(error or MovementsDenied(network, [one.movement for one in denials]))
    return f"{text}; {denials[0].positions}" if denials else text
