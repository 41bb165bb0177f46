"""Swaps that are funded by a signature: the signed data, the signer, the deadline and the state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_api.model.deposit_actions import StepStatus
from swap_chains.evm.codec import depository_id
from swap_chains.evm.gasless import RelayedDeposit, authorization_nonce
from swap_domain.authorization_status import AuthorizationStatus
from swap_domain.catalogue import Network
from swap_domain.gasless import RELAY_TIME_MIN, SIGNED_FOR, Gasless, GaslessStandard

SIGNER_UNKNOWN: Final = "Connect the wallet that will sign, or pass source_address"
# What is signed stays the same, byte for byte, while at least so much of its time is left.
RENEWED_BEFORE: Final = timedelta(seconds=60)
IN_PROGRESS: Final = (
    AuthorizationStatus.INITIATED,
    AuthorizationStatus.PUBLISHED,
    AuthorizationStatus.COMPLETED,
)


@dataclass(frozen=True, slots=True)
class KnownAuthorization:
    """The settler's last message about a swap's signature."""

    submission: int
    status: AuthorizationStatus
    valid_before: int
    detail: str | None
    transaction_hash: str | None
    block_number: int | None
    confirmations_required: int


@dataclass(frozen=True, slots=True)
class GaslessSwap:
    """What of a swap its signature is about."""

    network: str
    token: str
    sequence_number: int
    base_units: int
    authorization: KnownAuthorization | None


@dataclass(frozen=True, slots=True)
class SignRequest:
    """A request for one signer's signature; the same until it expires."""

    swap_id: UUID
    signer: str
    issue: int  # the signer's first, second…
    standard: GaslessStandard
    nonce: int
    valid_after: int
    valid_before: int
    submission: int | None = None  # the swap's first, second…, once it was submitted
    is_refused: bool = False  # the signature that came last was

    def can_be_signed(self, now: datetime) -> bool:
        return self.valid_before - RENEWED_BEFORE.total_seconds() >= now.timestamp()

    def can_be_relayed(self, now: datetime) -> bool:
        return self.valid_before - RELAY_TIME_MIN.total_seconds() >= now.timestamp()


@dataclass(frozen=True, slots=True)
class Submission:
    """The newest accepted signature of a swap, by any signer."""

    submission: int
    valid_before: int


@dataclass(frozen=True, slots=True)
class Steps:
    """How far the two steps are, and why."""

    sign: StepStatus
    publish: StepStatus
    detail: str | None = None

    @property
    def asks_to_sign(self) -> bool:
        return self.sign is StepStatus.ACTION_REQUIRED


def relayed_for(
    network: Network, gasless: Gasless, swap: GaslessSwap, *, signer: str
) -> RelayedDeposit:
    """Return the deposit that a signer would sign, without its window and a permit's nonce.

    :raises ValueError: when the network has no Paymaster.
    """
    paymaster, treasury = network.contracts.paymaster, network.contracts.treasury
    if paymaster is None:
        raise ValueError(f"{network.name} has no Paymaster")
    key = depository_id(swap.sequence_number)
    derived = authorization_nonce(
        chain_id=network.chain_id,
        paymaster=paymaster,
        key=key,
        receiver=treasury,
        token=swap.token,
    )
    return RelayedDeposit(
        standard=gasless.standard,
        domain=gasless.domain,
        chain_id=network.chain_id,
        token=swap.token,
        paymaster=paymaster,
        receiver=treasury,
        key=key,
        signer=signer,
        base_units=swap.base_units,
        nonce=derived if gasless.standard is GaslessStandard.EIP3009 else 0,
        valid_after=0,
        valid_before=0,
    )


def window(now: datetime, deadline: datetime) -> int:
    """Return until when a signature counts, never beyond the swap's deadline."""
    return int(min(now + SIGNED_FOR, deadline).timestamp())


def with_requested_window(relayed: RelayedDeposit, request: SignRequest) -> RelayedDeposit:
    """Return the deposit exactly as it was requested."""
    return replace(
        relayed,
        nonce=request.nonce,
        valid_after=request.valid_after,
        valid_before=request.valid_before,
    )


def status_of(
    swap: GaslessSwap, newest: Submission | None, request: SignRequest | None, now: datetime
) -> AuthorizationStatus | None:
    """Return the public status; None while no signature was requested.

    :param newest: the newest accepted signature, which the settler may not have reported yet.
    :param request: the last request for a signature.
    """
    known = swap.authorization
    if newest is not None and (known is None or known.submission < newest.submission):
        return AuthorizationStatus.INITIATED
    if request is not None and request.submission is None and not _is_busy(swap, newest, now):
        if request.is_refused:
            return AuthorizationStatus.REJECTED
        if known is None:
            has_lapsed = request.valid_before <= now.timestamp()
            return AuthorizationStatus.EXPIRED if has_lapsed else AuthorizationStatus.INITIATED
    return None if known is None else known.status


def accepts_another(swap: GaslessSwap, newest: Submission | None, now: datetime) -> bool:
    """Whether a signature may come: none is in progress, nor spent before its end."""
    return not _is_busy(swap, newest, now)


def _is_busy(swap: GaslessSwap, newest: Submission | None, now: datetime) -> bool:
    known = swap.authorization
    if newest is not None and (known is None or known.submission < newest.submission):
        return True
    if known is None or known.status is AuthorizationStatus.EXPIRED:
        return False
    if known.status in IN_PROGRESS:
        return True
    was_sent = known.transaction_hash is not None
    if known.status is AuthorizationStatus.INSUFFICIENT and not was_sent:
        return False
    return known.valid_before > now.timestamp()


def steps_of(
    swap: GaslessSwap, deposit: StepStatus, newest: Submission | None, now: datetime
) -> Steps:
    """Return how far signing and publishing are, given how far the deposit is."""
    known = swap.authorization
    detail = None if known is None else known.detail
    if deposit is StepStatus.EXPIRED:
        return Steps(StepStatus.EXPIRED, StepStatus.EXPIRED, detail)
    if deposit is StepStatus.COMPLETED:
        return Steps(StepStatus.COMPLETED, StepStatus.COMPLETED)
    if deposit is StepStatus.IN_PROGRESS:
        return Steps(StepStatus.COMPLETED, StepStatus.IN_PROGRESS)
    if not _is_busy(swap, newest, now):
        return Steps(StepStatus.ACTION_REQUIRED, StepStatus.PENDING, detail)
    has_news = known is not None and (newest is None or known.submission >= newest.submission)
    if has_news and known is not None and known.status not in IN_PROGRESS:
        return Steps(StepStatus.FAILED, StepStatus.PENDING, detail)
    return Steps(StepStatus.COMPLETED, StepStatus.IN_PROGRESS)
