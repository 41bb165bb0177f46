"""What the watcher publishes about a movement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from swap_chain_watcher.domain.movements import Kind, TrackedMovement
from swap_contracts.deposits import DepositChanged
from swap_contracts.payouts import PayoutChanged
from swap_contracts.topics import DEPOSIT_CHANGED, PAYOUT_CHANGED
from swap_runtime.messaging.outbox import Outgoing

_DepositKind = Literal[
    "deposited", "token_transfer", "native_received", "balance_rose", "swept", "withdrawn"
]
_DEPOSIT_KINDS: Final[Mapping[Kind, _DepositKind]] = {
    Kind.DEPOSITED: "deposited",
    Kind.TOKEN_TRANSFER: "token_transfer",
    Kind.NATIVE_RECEIVED: "native_received",
    Kind.BALANCE_ROSE: "balance_rose",
    Kind.SWEPT: "swept",
    Kind.WITHDRAWN: "withdrawn",
}


def to_outgoing(tracked: TrackedMovement, *, at: datetime) -> Outgoing:
    """Return the message about a movement's last change."""
    # One trace per movement: a deposit's begins here, whichever swap it turns out to be for.
    trace_id = tracked.movement.id.hex
    if tracked.movement.paid_id is not None:
        paid = _payout(tracked)
        sealed = PAYOUT_CHANGED.seal(paid, version=paid.version, occurred_at=at, trace_id=trace_id)
        return replace(Outgoing.of(PAYOUT_CHANGED, sealed), begins_trace=True)
    body = _deposit(tracked)
    deposit = DEPOSIT_CHANGED.seal(body, version=body.version, occurred_at=at, trace_id=trace_id)
    return replace(Outgoing.of(DEPOSIT_CHANGED, deposit), begins_trace=True)


def _deposit(tracked: TrackedMovement) -> DepositChanged:
    movement = tracked.movement
    assert tracked.state is not None
    assert tracked.depth is not None
    return DepositChanged(
        deposit_id=movement.id,
        version=tracked.version,
        state=tracked.state.value,
        kind=_DEPOSIT_KINDS[movement.kind],
        network=movement.network,
        transaction_hash=movement.transaction_hash,
        block_number=movement.block.number,
        block_hash=movement.block.hash,
        block_time=movement.block.time,
        from_address=movement.from_address,
        to_address=movement.to_address,
        token=movement.token,
        base_units=str(movement.base_units),
        confirmations_required=tracked.depth.confirmations,
        quarantine_reason=movement.quarantine and movement.quarantine.value,
        sequence_number=movement.sequence_number,
        memo=movement.memo,
        came_after=movement.came_after,
    )


def _payout(tracked: TrackedMovement) -> PayoutChanged:
    movement = tracked.movement
    assert tracked.state is not None
    assert movement.transaction_hash is not None
    return PayoutChanged(
        intent_id=str(movement.paid_id),
        version=tracked.version,
        state=tracked.state.value,
        network=movement.network,
        transaction_hash=movement.transaction_hash,
        block_number=movement.block.number,
        block_hash=movement.block.hash,
        block_time=movement.block.time,
        token=movement.token,
        to_address=movement.to_address,
        base_units=str(movement.base_units),
    )
