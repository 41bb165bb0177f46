"""Proves by the nodes whether external transactions consumed nonces of our signers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from swap_chains.events import Block
from swap_chains.ports import ChainReader, FoundTransaction, NodeReceipt, Receipt
from swap_runtime.errors import RequestRefused, Unavailable
from swap_settler.operator.decide.external_nonces import OpenNonce
from swap_settler.operator.decide.signer import Signer
from swap_settler.operator.store.external_nonces import PostgresExternalNonces
from swap_settler.paying.decide.receipt_quorum import count_votes
from swap_settler.paying.decide.slots import ClosedSlot
from swap_settler.paying.usecases.spent_ids import find_spent_ids

NodeReceipts = Mapping[str, Sequence[NodeReceipt]]


@dataclass(frozen=True, slots=True)
class ExternalNonce:
    """A nonce that a final block has consumed by a transaction we did not sign."""

    slot: ClosedSlot
    lost_base_units: int


@dataclass(frozen=True, slots=True)
class ProvenNonces:
    """What was proven of one signer at a final block."""

    final: Block
    assigned: tuple[ExternalNonce, ...]
    unassigned: tuple[ExternalNonce, ...]  # the next nonces, which nothing here was on
    paid: frozenset[int] = frozenset()  # ids that the Treasury has spent: never released


class ProveExternalTransactions:
    """Prove it of transactions that an operator names.

    Each is from the signer, in a final block, and none of the lane's attempts. Two transactions of
    one nonce are in no chain together: what we signed for it can pay nothing any more.
    """

    def __init__(self, nonces: PostgresExternalNonces, *, treasuries: Mapping[str, str]) -> None:
        """
        :param treasuries: by network.
        """
        self._nonces = nonces
        self._treasuries = treasuries

    async def __call__(
        self, chain: ChainReader, signer: Signer, hashes: Sequence[str]
    ) -> ProvenNonces:
        """
        :raises RequestRefused: when something is not so, or a nonce stays unexplained.
        :raises ChainError: when no node gives a usable answer.
        """
        final, head = await chain.final_block(), await chain.head()
        used = await chain.nonce(signer.address, at=final)
        there = await chain.nonce(signer.address, at=head)
        named = _final_only(signer, hashes, await chain.transactions(hashes), final)
        if signed_here := await self._nonces.signed_here(hashes):
            raise RequestRefused(
                f"signed here, its nonce closes by itself: {', '.join(sorted(signed_here))}"
            )
        consumed = await self._nonces.find_consumed(signer, named)
        fresh = {n: one for n, one in named.items() if consumed.get(n) != one.transaction_hash}
        slots = {slot.nonce: slot for slot in await self._nonces.open_below(signer, used)}
        _check_assigned(signer, fresh, slots)
        # A lagging node reports less at its head than another at a final block.
        await self._check_all_named(chain, signer, fresh, slots, there=max(there, used))
        dead = [slots[n] for n in fresh if n in slots]
        newest = max(final, head, key=lambda block: block.number)
        paid = await self._find_paid(chain, signer, dead, final=final, newest=newest)
        rivals = [h for n in fresh if n in slots for h in slots[n].attempts]
        transaction_hashes = [*(one.transaction_hash for one in fresh.values()), *rivals]
        node_receipts = (
            await chain.receipts_of_each_node(transaction_hashes) if transaction_hashes else {}
        )
        external = [
            _to_external_nonce(signer, one, slots.get(n), node_receipts)
            for n, one in sorted(fresh.items())
        ]
        return ProvenNonces(
            final,
            tuple(one for one in external if one.slot.nonce in slots),
            tuple(one for one in external if one.slot.nonce not in slots),
            paid,
        )

    async def _check_all_named(
        self,
        chain: ChainReader,
        signer: Signer,
        named: Mapping[int, FoundTransaction],
        slots: Mapping[int, OpenNonce],
        *,
        there: int,
    ) -> None:
        others = [slot for n, slot in slots.items() if n not in named]
        hashes = [h for slot in others for h in slot.attempts]
        known = await chain.receipts(hashes) if hashes else {}
        left = [slot.nonce for slot in others if not any(h in known for h in slot.attempts)]
        # A nonce that is passed over now could never be named: those beyond have no gap.
        end = max([there, *(n + 1 for n in named)])
        left += [n for n in range(signer.next_nonce, end) if n not in named]
        if left:
            raise RequestRefused(
                f"no transaction is named that used {_nonces(left)}, once it is final"
            )

    async def _find_paid(
        self,
        chain: ChainReader,
        signer: Signer,
        slots: Sequence[OpenNonce],
        *,
        final: Block,
        newest: Block,
    ) -> frozenset[int]:
        """Return the ids that an external holder of the key has paid, in final blocks.

        They must not be paid, or sent back, once more; what else was on their nonces may be.
        """
        if any(slot.mined for slot in slots):
            raise RequestRefused(
                "by the chain-watcher's last message a block has a payment of these nonces: wait"
            )
        ids = [paid_id for slot in slots for paid_id in slot.paid_ids]
        treasury = self._treasuries[signer.network]
        paid = await find_spent_ids(chain, treasury, ids, at=final)
        if young := await find_spent_ids(chain, treasury, ids, at=newest) - paid:
            raise RequestRefused(
                f"the Treasury has paid {_join_ids(young)} in a block that is not final: wait"
            )
        return paid


def _final_only(
    signer: Signer, hashes: Iterable[str], found: Mapping[str, FoundTransaction], final: Block
) -> Mapping[int, FoundTransaction]:
    named: dict[int, FoundTransaction] = {}
    for h in dict.fromkeys(hashes):
        one = found.get(h)
        if one is None:
            raise RequestRefused(f"no node has the transaction {h}")
        if one.from_address != signer.address:
            raise RequestRefused(f"{h} is not from {signer.address}")
        if one.block_number is None or one.block_number > final.number:
            raise RequestRefused(f"{h} is in no final block")
        named[one.nonce] = one
    return named


def _check_assigned(
    signer: Signer, named: Mapping[int, FoundTransaction], slots: Mapping[int, OpenNonce]
) -> None:
    unrelated = [n for n in named if n not in slots and n < signer.next_nonce]
    if unrelated:
        raise RequestRefused(f"{_nonces(unrelated)} used by nothing that this ledger waits for")


def _to_external_nonce(
    signer: Signer, one: FoundTransaction, slot: OpenNonce | None, node_receipts: NodeReceipts
) -> ExternalNonce:
    h, block_hash = one.transaction_hash, one.block_hash
    receipts = (receipt_report.receipt for receipt_report in node_receipts[h])
    receipt = next((r for r in receipts if r is not None and r.block.hash == block_hash), None)
    attempts = () if slot is None else slot.attempts
    rivals = [report for attempt in attempts for report in node_receipts[attempt]]
    if receipt is None:
        raise RequestRefused(f"no node has a receipt of {h}")
    quorum = count_votes(
        node_receipts[h],
        block_hash=receipt.block.hash,
        succeeded=receipt.succeeded,
        rivals=rivals,
    )
    if not quorum.is_proven:
        if quorum.deny:
            raise RequestRefused(f"Nodes disagree about {h}: {', '.join(quorum.deny)}")
        raise Unavailable(f"one provider alone has a receipt of {h}")
    closed = ClosedSlot(
        one.nonce, h, is_cancel=False, receipt=receipt, quorum=quorum, is_external=True
    )
    return ExternalNonce(closed, _lost_base_units(signer, one, receipt))


def _lost_base_units(signer: Signer, one: FoundTransaction, receipt: Receipt) -> int:
    has_left = receipt.succeeded and one.to_address != signer.address
    return receipt.fee_base_units + (one.value if has_left else 0)


def _nonces(nonces: Sequence[int]) -> str:
    return f"nonce {nonces[0]}" if len(nonces) == 1 else f"nonces {sorted(nonces)}"


def _join_ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))
