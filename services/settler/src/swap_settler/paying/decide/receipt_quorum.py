"""Whether enough independent nodes report that a nonce paid nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from swap_chains.ports import NodeReceipt, Receipt

PROVIDERS_MIN: Final = 2  # where so many are configured


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
    reports: Sequence[NodeReceipt],
    *,
    block_hash: str,
    succeeded: bool = False,
    rivals: Sequence[NodeReceipt] = (),
) -> ReceiptQuorum:
    """Group the nodes by whether they report this outcome of the transaction in this block.

    Two providers must report it where two are configured, else one.

    :param reports: one per configured node.
    :param rivals: reports about other transactions of the same nonce.
    """

    def is_this(receipt: Receipt) -> bool:
        return receipt.block.hash == block_hash and receipt.succeeded is succeeded

    answered = [report for report in reports if report.has_answered]
    agree = [r for r in answered if r.receipt is not None and is_this(r.receipt)]
    agreeing = tuple(report.node for report in agree)
    return ReceiptQuorum(
        agree=agreeing,
        unknown=tuple(report.node for report in answered if report.receipt is None),
        silent=tuple(report.node for report in reports if not report.has_answered),
        deny=tuple(
            r.node
            for r in (*answered, *rivals)
            if r.receipt is not None and not (is_this(r.receipt) and r.node in agreeing)
        ),
        providers_agreeing=len({_voter(report) for report in agree}),
        providers_required=min(max(len({_voter(report) for report in reports}), 1), PROVIDERS_MIN),
    )


def _voter(report: NodeReceipt) -> str:
    """Return the provider: its nodes count as one vote, and one without it by itself."""
    return report.provider or report.node
