"""The text by which the sender of a transfer that names no swap gives it to one.

The api that shows it and the settler that acts on it write it alike, each from its own rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from swap_domain.catalogue import NATIVE


@dataclass(frozen=True, slots=True)
class ReceivedTransfer:
    """A transfer to a Treasury, as the chain has it."""

    deposit_id: UUID
    network: str
    transaction_hash: str
    token: str
    base_units: int
    from_address: str
    to_address: str


@dataclass(frozen=True, slots=True)
class SwapAddresses:
    """Where the money of a swap comes from and goes to. Each is fixed once it is set."""

    swap_id: UUID
    source_network: str
    destination_network: str
    destination_address: str
    refund_address: str | None

    def without_refund_address(self) -> SwapAddresses:
        return replace(self, refund_address=None)


def text_of(transfer: ReceivedTransfer, swap: SwapAddresses, *, chain_id: int) -> str:
    """Return what the sender signs: it can mean this transfer, this swap and this service only.

    The Treasury is the service's own contract: no other service has it. The creator of the swap
    chose the recipient, so the text shows it to the signer.
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
