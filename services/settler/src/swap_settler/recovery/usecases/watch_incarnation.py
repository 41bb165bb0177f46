"""Notices at every start of the database whether it is the one that was written last."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from swap_chains.errors import ChainError
from swap_chains.ports import ChainReader
from swap_settler.recovery import observe
from swap_settler.recovery.decide.recovery import (
    RegisteredIncarnation,
    Start,
    classify_start,
    restore_reason,
)
from swap_settler.recovery.store.incarnations import PostgresIncarnations

# Nothing is paid meanwhile. A later round holds less, and each node of a provider gets its time.
ANSWER_SECONDS: Final = 5
ANSWER_RETRY_SECONDS: Final = 20

Signer = tuple[str, str]  # network, address


class Comparison(NamedTuple):
    evidence: str | None  # what a chain has and the ledger has not
    unanswered: frozenset[str]  # networks


class WatchIncarnation:
    """Register each start of the database server; until then every payment is held.

    A restored copy begins a recovery. A server that was only restarted may run on a volume that was
    put back: its signers' nonces are compared with their chains first. So are those of signers that
    only the catalogue has: a volume from before their first payment has forgotten them altogether.
    Where fewer than two providers answer, payments that depend on that network stay held, and a
    later round compares it. A metric and the log name those networks.
    """

    def __init__(
        self,
        incarnations: PostgresIncarnations,
        *,
        chains: Mapping[str, ChainReader],
        signers: Mapping[str, Collection[str]],
        failover_is_lossless: bool,
    ) -> None:
        """
        :param signers: of the catalogue, by network.
        """
        self._incarnations = incarnations
        self._chains = chains
        self._signers = signers
        self._failover_is_lossless = failover_is_lossless
        self._reported: frozenset[str] = frozenset()  # as uncompared

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
            unanswered = await self._compare_again(seen) if seen.uncompared else frozenset()
            self._report(unanswered)
        elif start is Start.RESTORED:
            reason = restore_reason(seen.last, seen.now)
            if await self._incarnations.register(
                seen, uncompared=(), reason=reason, cause="restored"
            ):
                observe.began("restored", reason)
        else:
            await self._register(seen)

    async def _register(self, seen: RegisteredIncarnation) -> None:
        evidence, unanswered = await self._compare(seen, self._chains, seconds=ANSWER_SECONDS)
        is_first = await self._incarnations.register(seen, uncompared=unanswered, reason=evidence)
        if is_first:
            self._report(unanswered)
            if evidence:
                observe.began("evidence", evidence)

    async def _compare_again(self, seen: RegisteredIncarnation) -> frozenset[str]:
        """Return the networks that still gave no answer."""
        evidence, unanswered = await self._compare(
            seen, seen.uncompared, seconds=ANSWER_RETRY_SECONDS
        )
        if evidence or unanswered != seen.uncompared:
            is_first = await self._incarnations.mark_compared(
                seen, uncompared=unanswered, evidence=evidence
            )
            if is_first and evidence:
                observe.began("evidence", evidence)
        return unanswered

    def _report(self, unanswered: frozenset[str]) -> None:
        if unanswered != self._reported:
            self._reported = unanswered
            observe.networks_uncompared(unanswered)

    async def _compare(
        self, seen: RegisteredIncarnation, networks: Collection[str], *, seconds: int
    ) -> Comparison:
        compared = sorted(
            (network, address)
            for network, address in await self._signers_of(seen)
            if network in networks and network in self._chains
        )
        queries = (self._nonce(signer, seconds=seconds) for signer in compared)
        answers = await asyncio.gather(*queries)
        # Read again behind the answers: what was signed meanwhile is no evidence.
        known = await self._incarnations.known_nonces()
        ahead = [
            _ahead_text(signer, nonce, known.get(signer))
            for signer, nonce in zip(compared, answers, strict=True)
            if nonce is not None and nonce > known.get(signer, 0)
        ]
        unanswered = (
            network for (network, _), nonce in zip(compared, answers, strict=True) if nonce is None
        )
        return Comparison("; ".join(ahead) or None, frozenset(unanswered))

    async def _signers_of(self, seen: RegisteredIncarnation) -> frozenset[Signer]:
        """Return what is compared: an empty ledger has nothing older that could be paid twice."""
        known = frozenset(await self._incarnations.known_nonces())
        if not seen.has_history:
            return known
        return known | {
            (network, address) for network, of_it in self._signers.items() for address in of_it
        }

    async def _nonce(self, signer: Signer, *, seconds: int) -> int | None:
        """Return the next nonce, with what waits in a pool; None when too few answer in time."""
        network, address = signer
        try:
            async with asyncio.timeout(seconds):
                return await self._chains[network].highest_nonce(address)
        except (ChainError, TimeoutError):
            return None


def _ahead_text(signer: Signer, nonce: int, known: int | None) -> str:
    network, address = signer
    here = "has never used it" if known is None else f"at {known}"
    return f"{network} is at nonce {nonce} of {address}, the ledger {here}"
