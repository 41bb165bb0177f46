"""Swaps as they are stored and answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from swap_api.model.gasless import GaslessSwap
from swap_contracts.swaps import SwapChanged

NewId = Callable[[], UUID]


NewSequenceNumber = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Gap:
    """A transaction that is not final: its confirmations are filled in when it is read."""

    network: str
    block_number: int
    confirmations_required: int


@dataclass(frozen=True, slots=True)
class RenderedSwap:
    """A swap's answer, made once and completed with each read."""

    document: bytes
    gaps: tuple[Gap, ...]  # in the document, in this order
    action: bytes | None  # what the user has to do now, if anything
    step_status: str


@dataclass(frozen=True, slots=True)
class StoredSwap:
    app_id: UUID
    expires_at: datetime
    rendered: RenderedSwap
    gasless: GaslessSwap | None = None
    sign_template: bytes | None = None  # the action of a gasless swap, before a signer is known
    sequence: int = 0  # of the last change that is stored
    decided_sequence: int = 0  # of the last one that the settler had decided when this was read

    @classmethod
    def of(
        cls, app_id: UUID, expires_at: datetime, rendered: RenderedSwap, gasless: GaslessSwap | None
    ) -> StoredSwap:
        """Build what is read; a gasless swap has no action until a signer is known."""
        if gasless is None:
            return cls(app_id, expires_at, rendered)
        bare = replace(rendered, action=None)
        return cls(app_id, expires_at, bare, gasless, rendered.action)


@dataclass(frozen=True, slots=True)
class SwapPage:
    swaps: tuple[StoredSwap, ...]
    total: int  # counted up to a bound
    has_more: bool


@dataclass(frozen=True, slots=True)
class SwapState:
    """What a live list compares of a swap."""

    id: UUID
    status: str


@dataclass(frozen=True, slots=True)
class SwapRow:
    """A swap as the read model keeps it."""

    swap: SwapChanged
    rendered: RenderedSwap
    is_unpaid: bool
    client: str | None = None
    gasless: GaslessSwap | None = None
    deposit_address: str | None = None  # that is this swap's own
