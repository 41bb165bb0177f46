"""Notices at every start of the database whether it is the one that was written last."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from swap_chains.errors import ChainError
from swap_chains.ports import ChainReader
from swap_settler.recovery import observe
from swap_settler.recovery.decide.recovery import Start, classify_start, what_changed
from swap_settler.recovery.ports import Incarnations, Registered

ANSWER_SECONDS: Final = 5


class Compared(NamedTuple):
    evidence: str | None  # what a chain has and the ledger has not
    unanswered: frozenset[str]  # networks


class WatchIncarnation:
    """Register each start of the database server; until then every payment is held.

    A restored copy begins a recovery. A server that was only restarted may run on a volume that was
    put back: its signers' nonces are compared with their chains first. Where no node answers, what
    rests on that network stays held, and is compared by a later round.
    """

    def __init__(
        self,
        incarnations: Incarnations,
        *,
        chains: Mapping[str, ChainReader],
        failover_is_lossless: bool,
    ) -> None:
        self._incarnations = incarnations
        self._chains = chains
        self._failover_is_lossless = failover_is_lossless

    async def __call__(self) -> None:
        """
        :raises Unavailable: when Postgres is away.
        """
        seen = await self._incarnations.find()
        start = classify_start(
            seen.last,
            seen.now,
            has_history=seen.has_history,
            failover_is_lossless=self._failover_is_lossless,
        )
        if start is Start.SAME:
            if seen.uncompared:
                await self._compare_again(seen)
        elif start is Start.RESTORED:
            reason = what_changed(seen.last, seen.now)
            if await self._incarnations.register_restored(seen, reason=reason):
                observe.began("restored", reason)
        else:
            await self._register(seen)

    async def _register(self, seen: Registered) -> None:
        evidence, unanswered = await self._compare(self._chains)
        is_first = await self._incarnations.register(seen, uncompared=unanswered, evidence=evidence)
        if is_first and evidence:
            observe.began("evidence", evidence)

    async def _compare_again(self, seen: Registered) -> None:
        evidence, unanswered = await self._compare(seen.uncompared)
        if evidence or unanswered != seen.uncompared:
            await self._incarnations.mark_compared(seen, uncompared=unanswered, evidence=evidence)

    async def _compare(self, networks: Collection[str]) -> Compared:
        uncompared_networks = [
            known
            for known in await self._incarnations.known_nonces()
            if known.network in networks and known.network in self._chains
        ]
        answers = await asyncio.gather(
            *(self._nonce(n.network, n.address) for n in uncompared_networks)
        )
        # Read again behind the answers: what was signed meanwhile is no evidence.
        known = {
            (n.network, n.address): n.next_nonce for n in await self._incarnations.known_nonces()
        }
        ahead = [
            f"{n.network} is at nonce {nonce} of {n.address}, the ledger at {here}"
            for n, nonce in zip(uncompared_networks, answers, strict=True)
            if nonce is not None and nonce > (here := known[n.network, n.address])
        ]
        unanswered = (
            n.network
            for n, nonce in zip(uncompared_networks, answers, strict=True)
            if nonce is None
        )
        return Compared("; ".join(ahead) or None, frozenset(unanswered))

    async def _nonce(self, network: str, address: str) -> int | None:
        """Return the next nonce, with what waits in a pool; None when no node answers in time."""
        chain = self._chains[network]
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                mined = await chain.nonce(address, at=await chain.head())
                return max(mined, await chain.pending_nonce(address))
        except (ChainError, TimeoutError):
            return None
