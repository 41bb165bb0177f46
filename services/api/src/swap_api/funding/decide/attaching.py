"""A transfer that names no swap, as its sender may give it to one. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from swap_domain.attaching import ReceivedTransfer


class TransferStatus(StrEnum):
    ATTACHABLE = "attachable"
    SUBMITTED = "submitted"  # a signature was taken; the settler decides
    ATTACHED = "attached"  # to the swap of the request
    UNAVAILABLE = "taken"  # another swap's, or paid back


@dataclass(frozen=True, slots=True)
class UnmatchedTransfer(ReceivedTransfer):
    """What came to a Treasury by a transfer that named no swap."""

    swap_id: UUID | None  # that it was attached to
    is_free: bool
    is_submitted: bool  # for the swap of the request
    is_source_token: bool  # that the swap is paid with

    def status(self, swap_id: UUID) -> TransferStatus:
        if self.swap_id == swap_id:
            return TransferStatus.ATTACHED
        if not self.is_free or not self.is_source_token:
            return TransferStatus.UNAVAILABLE
        return TransferStatus.SUBMITTED if self.is_submitted else TransferStatus.ATTACHABLE
