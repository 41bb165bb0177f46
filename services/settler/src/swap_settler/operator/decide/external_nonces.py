"""Nonces of our signers that external transactions consumed, as the ledger has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenNonce:
    """One that was handed out and that nothing of ours has consumed, as far as we know."""

    nonce: int
    attempts: tuple[str, ...]  # what was signed for it
    mined: int  # payments on it that a block has, as far as we heard
    paid_ids: tuple[int, ...]  # of those that wait: what the Treasury accepts once
