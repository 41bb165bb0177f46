"""The Treasury's own outflow limits: what it would not pay now waits, and is not sent to revert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from swap_chains.evm.codec import WORD
from swap_chains.ports import ChainReader, Simulated
from swap_settler import observe
from swap_settler.domain.caps import beyond_limit, kept, length_of_line
from swap_settler.domain.lane import Group, Payment
from swap_settler.lane_ports import LaneStore
from swap_settler.usecases.lane_calls import LaneCalls

UNLIMITED: Final = 2**256 - 1
LINE_LENGTH_MAX: Final = 50  # how much of a line is looked at together


class HeedLimits:
    """Each payment may be within the limit while all of them are not: what leaves is summed up."""

    def __init__(
        self, *, chain: ChainReader, sender: str, store: LaneStore, calls: LaneCalls
    ) -> None:
        self._chain = chain
        self._sender = sender
        self._store = store
        self._calls = calls

    async def beyond(
        self,
        groups: Sequence[Group],
        rooms: Mapping[str, Simulated],
        sent: Mapping[str, int],
    ) -> Sequence[Payment]:
        """Let what goes beyond a limit stand in line, and return it.

        :param rooms: what the Treasury says of each token.
        :param sent: what is on its way, by token.
        """
        told = {token: _first_word(said) for token, said in rooms.items() if said.succeeded}
        limited = {token: room for token, room in told.items() if room < UNLIMITED}
        if not limited:
            return ()
        tight = {}
        for token, room in limited.items():
            payments = [p for g in groups for p in g if p.token == token and not p.is_relay]
            available = room - sent.get(token, 0)
            if not _fits(payments, available):
                tight[token] = (payments, available)
        return await self._told_apart(tight) if tight else ()

    async def _told_apart(
        self, tight: Mapping[str, tuple[Sequence[Payment], int]]
    ) -> Sequence[Payment]:
        capacities = await self._capacities(list(tight))
        beyond = [
            payment
            for token, (payments, available) in tight.items()
            for payment in beyond_limit(
                payments,
                available=available,
                capacity=capacities.get(token, UNLIMITED),
                line_length_max=LINE_LENGTH_MAX,
            )
        ]
        await self._wait(beyond, capacities)
        return beyond

    async def wait(self, payments: Sequence[Payment]) -> None:
        """Let what the Treasury has refused for its limit stand in line."""
        if payments:
            tokens = sorted({payment.token for payment in payments})
            await self._wait(payments, await self._capacities(tokens))

    async def _wait(self, payments: Sequence[Payment], capacities: Mapping[str, int]) -> None:
        told = [kept(p, capacity=capacities.get(p.token, UNLIMITED)) for p in payments]
        news = [one for one in told if one.is_news]
        if news:
            await self._store.stand_in_line(news)
            observe.payments_kept(self._chain.network, len(news))

    async def _capacities(self, tokens: Sequence[str]) -> Mapping[str, int]:
        calls = [self._calls.capacity(token) for token in tokens]
        answers = await self._chain.simulate(calls, sender=self._sender)
        found = zip(tokens, answers, strict=True)
        return {token: _first_word(said) for token, said in found if said.succeeded}


def _fits(payments: Sequence[Payment], available: int) -> bool:
    fits = sum(payment.base_units for payment in payments) <= available
    return fits and length_of_line(payments) < LINE_LENGTH_MAX


def _first_word(said: Simulated) -> int:
    return int.from_bytes(said.data[:WORD], "big")
