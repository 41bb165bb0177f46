"""What is known of a network."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class OneProviderCap:
    """What one provider's report may confirm of a token, and has confirmed."""

    token: str
    cap_base_units: int
    used_base_units: int


@dataclass(frozen=True, slots=True)
class NetworkState:
    """What is known of a network; nothing of it need be."""

    head: int | None = None
    head_at: datetime | None = None
    tokens: int = 0  # that were ever held there
    payable_tokens: int = 0  # with an amount that can be paid
    stuck_swaps: int | None = None
    is_stopped: bool = False
    is_closed: bool = False  # to new swaps; those under way are paid
    providers: int = 1  # independent ones of the nodes that are configured
    withheld: int = 0  # deposits that wait for a second provider, or for room under a cap
    caps: tuple[OneProviderCap, ...] = ()
