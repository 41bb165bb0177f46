"""The public models of gasless signatures."""

from __future__ import annotations

from typing import Literal

from swap_contracts.public.models import PublicModel


class AuthorizationTransactionModel(PublicModel):
    transaction_id: str
    transaction_hash: str
    status: Literal["initiated", "completed", "failed"]
    confirmations: int
    max_confirmations: int


class AuthorizationModel(PublicModel):
    """`GET …/authorize`: how far a gasless signature is."""

    status: str
    transaction: AuthorizationTransactionModel | None
