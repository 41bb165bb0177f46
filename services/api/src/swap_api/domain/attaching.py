"""A transfer that names no swap, and the text by which its sender gives it to one. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

NATIVE = "0x" + "0" * 40


class TransferStatus(StrEnum):
    ATTACHABLE = "attachable"
    SUBMITTED = "submitted"  # a signature was taken; the settler decides
    ATTACHED = "attached"  # to the swap that was asked about
    TAKEN = "taken"  # another swap's, or paid back


@dataclass(frozen=True, slots=True)
class LoneTransfer:
    """What came to a Treasury by a transfer that named no swap."""

    deposit_id: UUID
    network: str
    transaction_hash: str
    token: str
    base_units: int
    from_address: str
    to_address: str
    swap_id: UUID | None  # that it was attached to
    is_free: bool
    is_submitted: bool  # for the swap that was asked about
    is_its_token: bool  # that the swap is paid with

    def status(self, swap_id: UUID) -> TransferStatus:
        if self.swap_id == swap_id:
            return TransferStatus.ATTACHED
        if not self.is_free or not self.is_its_token:
            return TransferStatus.TAKEN
        return TransferStatus.SUBMITTED if self.is_submitted else TransferStatus.ATTACHABLE


@dataclass(frozen=True, slots=True)
class Destined:
    """Where the money of a swap comes from and goes to. Each is fixed once it is set."""

    swap_id: UUID
    source_network: str
    destination_network: str
    destination_address: str
    refund_address: str | None

    def before_its_refund_address(self) -> Destined:
        return replace(self, refund_address=None)


def text_of(transfer: LoneTransfer, swap: Destined, *, chain_id: int) -> str:
    """Return what the sender signs: it can mean this transfer, this swap and this service only.

    The Treasury is the service's own contract: no other service has it. Whoever made the swap said
    who is paid, so the text says it to who signs.
    """
    what = "the native coin" if transfer.token == NATIVE else transfer.token
    refund = swap.refund_address
    goes_back = f"Sent back to, if not paid out: {refund} on {swap.source_network}\n"
    return (
        "Use my transfer for a swap\n\n"
        f"Swap: {swap.swap_id}\n"
        f"Network: {transfer.network} (chain id {chain_id})\n"
        f"Transaction: {transfer.transaction_hash}\n"
        f"Transfer: {transfer.deposit_id}\n"
        f"Amount: {transfer.base_units} base units of {what}\n"
        f"Received by the service at: {transfer.to_address}\n"
        f"Paid out to: {swap.destination_address} on {swap.destination_network}\n"
        f"{goes_back if refund else ''}\n"
        "Signing this gives the transfer to that recipient. Sign only if you know the address."
    )
