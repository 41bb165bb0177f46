"""Which swap a deposit without a number belongs to, by its sender's proof or an operator. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from swap_settler.model.swap import Deposit, DepositState, Method, Swap

LIVE = (DepositState.SEEN, DepositState.CREDITED)


class NotAttachable(Exception):
    """A deposit cannot be attached to a swap now; the text has the reason."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Who names the swap of a deposit, since when, and the evidence."""

    deposit_id: UUID
    swap_id: UUID
    since: datetime
    by: str
    because: str
    signer: str | None = None  # of a signature; None for an operator's order


def check(proof: Proof, deposit: Deposit, swap: Swap, *, is_paid: bool) -> None:
    """
    :param is_paid: whether it went back to its owner, or is on its way.
    :raises NotAttachable: when the deposit cannot belong to the swap.
    """
    source = swap.terms.source
    if is_paid:
        raise NotAttachable("it is paid back, or on its way")
    if deposit.state not in LIVE or deposit.quarantine_reason is not None:
        raise NotAttachable(f"it is {deposit.state.value}")
    if (deposit.network, deposit.token) != (source.network, source.token):
        raise NotAttachable("the swap is paid with another token, or on another network")
    if deposit.method not in (Method.DIRECT, Method.DEPOSITORY):
        raise NotAttachable(f"it came as {deposit.method.value}, not as a transfer")
    if proof.signer is not None:
        _check_signer(proof.signer, deposit)


def _check_signer(signer: str, deposit: Deposit) -> None:
    """Accept a signer only for a transfer: the sender of a Depository call may be a bundler."""
    if deposit.method is not Method.DIRECT:
        raise NotAttachable("its owner is not known from the chain: an operator attaches it")
    if deposit.from_address is None or signer.lower() != deposit.from_address.lower():
        raise NotAttachable("another address sent it")
