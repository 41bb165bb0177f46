"""Takes one batch of a network's facts: blocks, movements, messages and cursor in one commit."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.domain.decide import decide
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.reading import senders, subjects
from swap_chain_watcher.domain.watch import Watch
from swap_chain_watcher.ports import UnitOfWork
from swap_chains.events import ChainEvent
from swap_runtime.clock import Clock


class AdvanceWatch:
    def __init__(self, unit_of_work: UnitOfWork, *, policy: Policy, clock: Clock) -> None:
        self._unit_of_work = unit_of_work
        self._policy = policy
        self._clock = clock

    async def __call__(self, watch: Watch, happened: Sequence[ChainEvent], *, epoch: int) -> Watch:
        """Return the watch behind the batch.

        :raises BrokenChain: when the facts do not follow from the watch.
        :raises ReorgBeyondFinality: when they take back what is final.
        :raises CursorMoved: when the watch is not the stored one.
        :raises NetworkHalted: when the second look has stopped the network meanwhile.
        :raises LeaseLost: when another follows the network now.
        """
        if not watch.has_news(happened):
            return watch
        network = watch.network
        asked = subjects(network, happened)
        paid_ids = [subject for subject in asked if isinstance(subject, int)]
        movement_ids = [subject for subject in asked if not isinstance(subject, int)]
        async with self._unit_of_work() as work:
            await work.take_turn(watch, epoch=epoch)
            step = decide(
                watch,
                happened,
                policy=self._policy,
                known=await work.known(network, movement_ids, paid_ids),
                targets=await work.targets_among(network, senders(happened)),
            )
            now = self._clock()
            await work.advance(step, at=now)
        observe.advanced(step, at=now)
        return step.after
