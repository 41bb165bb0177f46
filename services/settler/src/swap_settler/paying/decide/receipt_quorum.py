"""Whether enough independent nodes report that a nonce paid nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from swap_chains.ports import NodeReceipt

PROVIDERS_MIN: Final = 2  # where so many are configured


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What one node reports about a transaction: no answer, no receipt, or its receipt."""

    node: str
    has_answered: bool
    block_hash: str | None = None  # of the block it is in
    succeeded: bool | None = None
    provider: str = ""  # without one, the node counts by itself

    @classmethod
    def of(cls, one: NodeReceipt) -> NodeReport:
        """Return what a node's answer about a receipt reports."""
        receipt = one.receipt
        block_hash = None if receipt is None else receipt.block.hash
        succeeded = None if receipt is None else receipt.succeeded
        return cls(one.node, one.has_answered, block_hash, succeeded, one.provider)

    @property
    def voter(self) -> str:
        """Return the provider: nodes of one provider count as one vote."""
        return self.provider or self.node


@dataclass(frozen=True, slots=True)
class ReceiptQuorum:
    """The nodes grouped by their reports about a transaction that paid nothing."""

    agree: tuple[str, ...]
    unknown: tuple[str, ...]  # they have no receipt: they lag
    silent: tuple[str, ...]
    deny: tuple[str, ...]  # it ended otherwise, is in another block, or another used the nonce
    providers_agreeing: int
    providers_required: int

    @property
    def is_proven(self) -> bool:
        """Whether enough independent providers report it and no node reports otherwise."""
        return self.providers_agreeing >= self.providers_required and not self.deny


def count_votes(
    reports: Sequence[NodeReport],
    *,
    block_hash: str,
    succeeded: bool = False,
    rivals: Sequence[NodeReport] = (),
) -> ReceiptQuorum:
    """Group the nodes by whether they report this outcome of the transaction in this block.

    Two providers must report it where two are configured, else one.

    :param reports: one per configured node.
    :param rivals: reports about other transactions of the same nonce.
    """
    answered = [report for report in reports if report.has_answered]
    known = [report for report in answered if report.block_hash is not None]
    agree = [w for w in known if w.block_hash == block_hash and w.succeeded is succeeded]
    return ReceiptQuorum(
        agree=tuple(report.node for report in agree),
        unknown=tuple(report.node for report in answered if report.block_hash is None),
        silent=tuple(report.node for report in reports if not report.has_answered),
        deny=tuple(
            report.node
            for report in (*known, *rivals)
            if report not in agree and report.block_hash is not None
        ),
        providers_agreeing=len({report.voter for report in agree}),
        providers_required=min(max(len({report.voter for report in reports}), 1), PROVIDERS_MIN),
    )
