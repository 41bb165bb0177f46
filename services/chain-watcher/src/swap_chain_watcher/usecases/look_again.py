"""Reads final blocks a second time, from another node, and adds what was missed."""

from __future__ import annotations

from swap_chain_watcher import observe
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.reading import movement_ids, senders, subjects
from swap_chain_watcher.domain.second_look import decide_missed
from swap_chain_watcher.domain.watch import BrokenChain
from swap_chain_watcher.ports import UnitOfWork, Watches
from swap_chain_watcher.usecases.tell import tell
from swap_chains.errors import ChainError
from swap_chains.events import Block
from swap_chains.ports import ChainReader
from swap_runtime.clock import Clock


class LookAgain:
    """What is final cannot change under the follower: both write under the cursor's lock."""

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        watches: Watches,
        reader: ChainReader,
        *,
        policy: Policy,
        clock: Clock,
        blocks_max: int,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._watches = watches
        self._reader = reader
        self._policy = policy
        self._clock = clock
        self._blocks_max = blocks_max

    async def __call__(self) -> bool:
        """Look at the next final blocks and say whether there were any."""
        network = self._reader.network
        unchecked = await self._watches.find_unchecked(network)
        if unchecked is None:
            return False
        upto = min(unchecked.finalized_number, unchecked.checked_number + self._blocks_max)
        last = await self._watches.nearest(network, upto)
        if last is None or last.number <= unchecked.checked_number:
            return False
        try:
            await self._look(unchecked.checked_number + 1, last)
        except (ChainError, BrokenChain) as error:
            observe.second_look_failed(network, error)
            return False
        return True

    async def _look(self, first: int, last: Block) -> None:
        network = self._reader.network
        found = await self._reader.movements(first=first, last=last)
        asked = subjects(network, found)
        async with self._unit_of_work() as work:
            stored = await work.stored_of(network, found, movement_ids(network, found))
            missed = decide_missed(
                network,
                found,
                stored=stored,
                policy=self._policy,
                known=await work.known(
                    network,
                    [subject for subject in asked if not isinstance(subject, int)],
                    [subject for subject in asked if isinstance(subject, int)],
                ),
                targets=await work.targets_among(network, senders(found)),
            )
            now = self._clock()
            await work.add_missed(
                network,
                missed,
                [tell(tracked, at=now) for tracked in missed.told],
                checked_number=last.number,
            )
        observe.looked_again(network, missed, checked_number=last.number)
