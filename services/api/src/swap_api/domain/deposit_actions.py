"""What a user has to do to fund a swap, computed from the catalogue and the swap alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from swap_chains.evm.codec import (
    depository_id,
    encode_deposit_erc20,
    encode_deposit_native,
)
from swap_domain.catalogue import Network, Token
from swap_domain.lifecycle import Status

# About three times what evm/gas.json measures (depositNative, depositERC20): tokens may have costly
# transfers, and a wallet pays for the gas that is used, whatever the limit.
GAS_LIMIT_NATIVE: Final = 120_000
GAS_LIMIT_ERC20: Final = 200_000


class StepStatus(StrEnum):
    PENDING = "pending"
    ACTION_REQUIRED = "action_required"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    EXPIRED = "expired"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TransferAction:
    """One call that the user's wallet makes."""

    to_address: str
    base_units: int  # native value that goes with the call
    token: Token  # what is deposited
    call_data: str
    gas_limit: int
    encoded_args: tuple[str, ...]


class ShownTransaction(Protocol):
    @property
    def type(self) -> str: ...


def depository_action(
    source: Network, token: Token, *, sequence_number: int, base_units: int
) -> TransferAction:
    """Return the Depository call that funds the swap.

    :raises ValueError: when the network has no Depository.
    """
    depository, treasury = source.contracts.depository, source.contracts.treasury
    if depository is None:
        raise ValueError(f"{source.name} has no Depository")
    key = depository_id(sequence_number)
    if token.is_native:
        return TransferAction(
            to_address=depository,
            base_units=base_units,
            token=token,
            call_data=_hex(encode_deposit_native(key, treasury)),
            gas_limit=GAS_LIMIT_NATIVE,
            encoded_args=(key, treasury),
        )
    return TransferAction(
        to_address=depository,
        base_units=0,
        token=token,
        call_data=_hex(encode_deposit_erc20(key, token.address, treasury, base_units)),
        gas_limit=GAS_LIMIT_ERC20,
        encoded_args=(key, token.address, treasury, str(base_units)),
    )


def deposit_step_status(status: str, transactions: Iterable[ShownTransaction]) -> StepStatus:
    """Return how far the deposit is, given the swap's status and what was seen of it."""
    if status == Status.EXPIRED:
        return StepStatus.EXPIRED
    if status != Status.DEPOSIT_PENDING:
        return StepStatus.COMPLETED
    if any(transaction.type == "input" for transaction in transactions):
        return StepStatus.IN_PROGRESS
    return StepStatus.ACTION_REQUIRED


def _hex(data: bytes) -> str:
    return "0x" + data.hex()
