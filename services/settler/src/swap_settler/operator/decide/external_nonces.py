"""Nonces of our signers that external transactions consumed, as the ledger has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenNonce:
    """An allocated nonce that no known transaction of the service has consumed."""

    nonce: int
    attempts: tuple[str, ...]  # what was signed for it
    mined: int  # payments on it that a block has, by the received facts
    paid_ids: tuple[int, ...]  # of those that wait: what the Treasury accepts once
