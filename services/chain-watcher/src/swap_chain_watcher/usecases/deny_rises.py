"""Halts a network with providers that deny a rise of coins, and reverts what two of them deny."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.denials import (
    PROVIDERS_MIN,
    Denial,
    RisesDenied,
    find_denials,
    find_disproved,
)
from swap_chain_watcher.domain.movements import FROM_THE_START, Movement, Place, State
from swap_chain_watcher.domain.watch import Halt
from swap_chains.events import Block
from swap_chains.ports import ChainReader, Holding
from swap_domain.catalogue import NATIVE
from swap_runtime.clock import Clock

BATCH_MAX: Final = 100


class DenyRises:
    """The second look at coins, which no log shows.

    It queries every provider about rises without a second report, once their blocks were read
    twice. All sweeps up to there are stored then. A rise that stayed published would keep every
    later coin of its address from being credited.
    """

    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        watches: PostgresWatches,
        reader: ChainReader,
        *,
        clock: Clock,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._watches = watches
        self._reader = reader
        self._clock = clock
        self._after = FROM_THE_START

    async def __call__(self) -> None:
        """Look at some rises, also while the network is halted."""
        network = self._reader.network
        denials, self._after = await self._find(self._after, providers_min=PROVIDERS_MIN)
        is_halted = await self._watches.find_halt(network) is not None
        if not denials or (is_halted and not any(one.is_disproved for one in denials)):
            return
        at = self._clock()
        async with self._unit_of_work() as work:
            published = await work.lock_rises(network, {one.movement.to_address for one in denials})
            still = {tracked.key for tracked in published}
            denials = [one for one in denials if one.movement.key in still]
            if not denials:
                return
            error = RisesDenied(network, denials)
            reverted = [
                one.with_state(State.REVERTED) for one in find_disproved(published, denials)
            ]
            await work.revert_and_halt(network, reverted, halt=Halt(network, str(error), at))
        observe.rises_denied(error)
        observe.network_halted(network, str(error))

    async def check(self) -> None:
        """
        :raises RisesDenied: when a provider denies a rise that is still published.
        """
        after, is_over = FROM_THE_START, False
        while not is_over:
            denials, after = await self._find(after, providers_min=1)
            if denials:
                raise RisesDenied(self._reader.network, denials)
            is_over = after == FROM_THE_START

    async def _find(self, after: Place, *, providers_min: int) -> tuple[Sequence[Denial], Place]:
        """Return denials among the next rises, and the place behind which the next ones are."""
        checked = await self._watches.find_checked_block(self._reader.network)
        if checked is None:
            return (), FROM_THE_START
        rises = await self._watches.unverified_rises(
            self._reader.network, after=after, upto=checked.number, limit=BATCH_MAX
        )
        has_more = len(rises) == BATCH_MAX
        totals = await self._totals(rises, checked) if rises else {}
        denials = find_denials(rises, totals) if len(totals) >= providers_min else ()
        return denials, rises[-1].place if has_more else FROM_THE_START

    async def _totals(
        self, rises: Sequence[Movement], checked: Block
    ) -> Mapping[str, Mapping[str, int]]:
        """Return what has come to the addresses in all, by the provider that reports it."""
        network = self._reader.network
        holdings = {rise.to_address: Holding(rise.to_address, NATIVE) for rise in rises}
        reports = await self._reader.balances_of_each_provider(holdings.values(), at=checked)
        async with self._unit_of_work() as work:
            swept = await work.load_swept_coins(network, holdings)
        return {
            provider: {a: held[holding] + swept[a] for a, holding in holdings.items()}
            for provider, held in reports.items()
        }
