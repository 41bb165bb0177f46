"""What approvals of tokens need from the outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from swap_api.read_model.swaps import StoredSwap
from swap_domain.catalogue import Network


@dataclass(frozen=True, slots=True)
class Pull:
    """What a contract will take out of the user's wallet, once that was approved."""

    network: str
    token: str
    spender: str
    base_units: int


class TokenAllowances(Protocol):
    async def allowance(self, network: Network, token: str, *, owner: str, spender: str) -> int:
        """Return how much a wallet lets a contract take now.

        :raises Unavailable: when no node tells.
        """
        ...


class ApprovalRendering(Protocol):
    """From what is to be done to the bytes that are answered."""

    def pull_of(self, stored: StoredSwap) -> Pull | None: ...

    def approval(self, stored: StoredSwap, pull: Pull) -> bytes: ...

    def steps(self, stored: StoredSwap, approval: bytes | None) -> bytes: ...

    def next_of(self, steps: bytes) -> bytes: ...

    def action_of(self, next_action: bytes) -> bytes | None: ...

    def asks_for_more(self, step: str, detail: str) -> bytes: ...
