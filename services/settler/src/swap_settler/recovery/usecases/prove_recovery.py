"""Ends a recovery by itself, once it is proven which older payments were made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from swap_chains.errors import ChainError
from swap_chains.events import Block
from swap_chains.evm.codec import encode_is_operator
from swap_chains.ports import Call, ChainReader
from swap_runtime.crashpoint import crashpoint
from swap_runtime.errors import Unavailable
from swap_settler.paying.usecases.spent_ids import VIEW_CALLER, VIEW_GAS, find_spent_ids
from swap_settler.recovery import observe
from swap_settler.recovery.decide.recovery import Findings, PaymentId, Proofs, Recovery, SignerProof
from swap_settler.recovery.store.recoveries import PostgresRecoveries, PostgresRecoveryProofs
from swap_settler.recovery.usecases.payment_ids import payment_ids

SWAPS_AT_ONCE: Final = 100
FIRST: Final = UUID(int=0)
BY: Final = "settler"


class ProveRecovery:
    """Three proofs, in this order.

    Each network is read to the head at the beginning of the recovery, and each signer's nonces are
    closed. After that no forgotten transaction can appear. Then each payment of each older swap is
    queried at its Treasury, at a final block. What is paid there and not here stays held; the rest
    is released. Nothing but the end is written, so that a crash repeats questions and no more.
    """

    def __init__(
        self,
        recoveries: PostgresRecoveries,
        proofs: PostgresRecoveryProofs,
        *,
        chains: Mapping[str, ChainReader],
        treasuries: Mapping[str, str],
        signers: Mapping[str, Sequence[str]],
    ) -> None:
        """
        :param chains: by network; what two providers report alike.
        :param treasuries: by network.
        :param signers: of the catalogue, by network. Others are closed when they may pay nothing.
        """
        self._recoveries = recoveries
        self._proofs = proofs
        self._chains = chains
        self._treasuries = treasuries
        self._signers = signers
        self._awaits_counts: tuple[int, int] | None = None  # the recovery, and its evidence

    async def __call__(self) -> bool:
        """Return whether a recovery ended now.

        :raises Unavailable: when Postgres or a chain is away; what is held stays so.
        """
        recovery = await self._recoveries.find()
        if recovery is None or recovery.ended is not None:
            return False
        proofs = await self._find(recovery)
        if not proofs.are_complete or await self._still_awaits_counts(recovery):
            return False
        try:
            final_blocks = await self._final_blocks(proofs)
            if final_blocks is None:
                return False
            found, checked_ids = await self._ask(recovery, final_blocks)
        except ChainError as error:
            raise Unavailable(str(error)) from error
        if found.has_unknown and not await self._are_counted(recovery):
            self._awaits_counts = (recovery.id, recovery.evidence)
            return False
        return await self._end(recovery, found, checked_ids)

    async def look(self, recovery: Recovery) -> Proofs:
        """Return what is proven."""
        proofs = await self._proofs.find(recovery.id, self._chains)
        return self._with_unopened(proofs)

    def _with_unopened(self, proofs: Proofs) -> Proofs:
        """Add signers that the ledger lacks: a restore has removed them, or they are new.

        Their lanes open them, and fence their nonces as any other signer's.
        """
        known = {(signer.network, signer.address) for signer in proofs.signers}
        unopened = (
            SignerProof.of_unknown_signer(network, address)
            for network, addresses in self._signers.items()
            for address in addresses
            if (network, address) not in known
        )
        return Proofs(proofs.networks, (*proofs.signers, *unopened))

    async def count_addresses(self, recovery: Recovery) -> Mapping[str, int]:
        """Return the older deposit addresses without a count since the recovery, by network.

        It ends without them where each payment that was found is of a swap that is known.
        """
        uncounted = await self._proofs.uncounted_addresses(recovery.began_at, self._chains)
        observe.addresses_uncounted(sum(uncounted.values()))
        return uncounted

    async def _still_awaits_counts(self, recovery: Recovery) -> bool:
        """Whether asking for every id again is useless: an unknown payment stays unknown."""
        if self._awaits_counts != (recovery.id, recovery.evidence):
            return False
        return not await self._proofs.are_counted(recovery.began_at, self._chains)

    async def _are_counted(self, recovery: Recovery) -> bool:
        """Whether each deposit of coins from before the recovery is known.

        A forgotten refund of late coins has the id of a deposit that may be split otherwise now.
        """
        if not await self._proofs.are_counted(recovery.began_at, self._chains):
            return False
        # What was counted has to be applied, too.
        return (await self._find(recovery)).are_complete

    async def _find(self, recovery: Recovery) -> Proofs:
        proofs = await self.look(recovery)
        missing = [one.network for one in proofs.networks if one.head is None]
        if missing:
            heads = await self._heads(missing)
            await self._proofs.note_heads(recovery, heads)
            crashpoint("settler.after_recovery_heads")
            proofs = await self.look(recovery)
        proofs = await self._without_rights(proofs)
        observe.proofs_read(proofs)
        return proofs

    async def _heads(self, networks: Sequence[str]) -> Mapping[str, int]:
        """Return the head of each network with a node that reports it."""

        async def head(network: str) -> int | None:
            try:
                return (await self._chains[network].head()).number
            except ChainError:
                return None

        heads = await asyncio.gather(*map(head, networks))
        return {n: number for n, number in zip(networks, heads, strict=True) if number is not None}

    async def _without_rights(self, proofs: Proofs) -> Proofs:
        """Leave out signers that may pay nothing: of earlier days, or not opened yet."""
        left = []
        for signer in proofs.signers:
            is_ours = signer.address in self._signers.get(signer.network, ())
            if (is_ours and signer.is_opened) or await self._may_pay(
                signer.network, signer.address
            ):
                left.append(signer)
        return Proofs(proofs.networks, tuple(left))

    async def _may_pay(self, network: str, address: str) -> bool:
        chain = self._chains.get(network)
        if chain is None:
            return True
        call = Call(self._treasuries[network], 0, encode_is_operator(address), VIEW_GAS)
        try:
            [answer] = await chain.simulate(
                [call], sender=VIEW_CALLER, at=await chain.final_block()
            )
        except ChainError:
            return True
        return not answer.succeeded or bool(int.from_bytes(answer.data, "big"))

    async def _final_blocks(self, proofs: Proofs) -> Mapping[str, Block] | None:
        """Return a final block of each network; None while one is before what was proven there."""
        final_blocks = {
            network: await chain.final_block() for network, chain in self._chains.items()
        }
        proven = {one.network: one.read or 0 for one in proofs.networks}
        is_reached = all(final.number >= proven[n] for n, final in final_blocks.items())
        return final_blocks if is_reached else None

    async def _ask(
        self, recovery: Recovery, final_blocks: Mapping[str, Block]
    ) -> tuple[Findings, int]:
        """Ask for every id, and return what is paid that the ledger has no answer for."""
        booked = {(o.network, o.paid_id) for o in await self._recoveries.list_unexplained()}
        checked_ids: set[tuple[str, int]] = set()
        paid: list[PaymentId] = []
        async for ids in self._ids(recovery):
            checked_ids |= {(one.network, one.paid_id) for one in ids}
            spent = await self._find_spent_ids(ids, final_blocks) | booked
            paid += [one for one in ids if (one.network, one.paid_id) in spent]
            observe.payment_ids_checked(len(checked_ids))
        return Findings(paid, bool(booked - checked_ids), recovery.evidence), len(checked_ids)

    async def _ids(self, recovery: Recovery) -> AsyncIterator[Sequence[PaymentId]]:
        """Yield the ids that the ledger has no answer for."""
        after = FIRST
        while swaps := await self._recoveries.held_swaps(
            recovery.began_at, after=after, limit=SWAPS_AT_ONCE
        ):
            after = swaps[-1].id
            yield [
                one
                for swap in swaps
                for one in payment_ids(swap)
                if (one.network, one.paid_id) not in swap.known
            ]
        yield await self._recoveries.standalone_payments()

    async def _find_spent_ids(
        self, ids: Iterable[PaymentId], final_blocks: Mapping[str, Block]
    ) -> frozenset[tuple[str, int]]:
        spent: set[tuple[str, int]] = set()
        for network, final in final_blocks.items():
            own = [one.paid_id for one in ids if one.network == network]
            chain, treasury = self._chains[network], self._treasuries[network]
            spent |= {(network, id) for id in await find_spent_ids(chain, treasury, own, at=final)}
        return frozenset(spent)

    async def _end(self, recovery: Recovery, found: Findings, checked_ids: int) -> bool:
        crashpoint("settler.before_recovery_end")
        reason = (
            f"proven: of {checked_ids} payments that older swaps may still get, "
            f"{len(found.paid)} were made and stay held"
        )
        if not await self._recoveries.finish(recovery.id, found, by=BY, reason=reason):
            return False
        crashpoint("settler.after_recovery_end")
        observe.recovery_ended(recovery.id, by=BY, reason=reason)
        return True
