"""What a user has to do to fund a swap, computed from the catalogue and the swap alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from swap_chains.evm.codec import (
    depository_id,
    encode_deposit_erc20,
    encode_deposit_native,
)
from swap_chains.evm.deposit_addresses import deposit_address
from swap_chains.evm.memos import encode_memo, encode_transfer_with_memo
from swap_domain.catalogue import Network, Token
from swap_domain.funding import FundingMethod
from swap_domain.lifecycle import Status

# About three times what evm/gas.json measures (depositNative, depositERC20, directNative,
# directErc20): tokens may have costly transfers. A wallet pays for the used gas, not for the limit.
GAS_LIMIT_NATIVE: Final = 120_000
GAS_LIMIT_ERC20: Final = 200_000
GAS_LIMIT_DIRECT_NATIVE: Final = 75_000
GAS_LIMIT_DIRECT_ERC20: Final = 120_000


class StepStatus(StrEnum):
    PENDING = "pending"
    ACTION_REQUIRED = "action_required"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    EXPIRED = "expired"
    FAILED = "failed"


TRANSFER: Final = "transfer"
MANUAL_TRANSFER: Final = "manual_transfer"


@dataclass(frozen=True, slots=True)
class TransferAction:
    """One call that the user's wallet makes, or a transfer by any means."""

    to_address: str
    base_units: int  # native value that goes with the call; of a manual transfer, the token's
    token: Token  # what is deposited
    call_data: str | None
    gas_limit: int | None
    encoded_args: tuple[str, ...] | None
    type: str = TRANSFER


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


def direct_action(
    source: Network, token: Token, *, sequence_number: int, base_units: int
) -> TransferAction:
    """Return the transfer to the Treasury that funds the swap; its memo names the swap."""
    treasury, memo = source.contracts.treasury, encode_memo(sequence_number)
    if token.is_native:
        return TransferAction(
            to_address=treasury,
            base_units=base_units,
            token=token,
            call_data=_hex(memo),
            gas_limit=GAS_LIMIT_DIRECT_NATIVE,
            encoded_args=(),
        )
    return TransferAction(
        to_address=token.address,
        base_units=0,
        token=token,
        call_data=_hex(encode_transfer_with_memo(treasury, base_units, memo)),
        gas_limit=GAS_LIMIT_DIRECT_ERC20,
        encoded_args=(treasury, str(base_units)),
    )


def own_address(source: Network, sequence_number: int) -> str:
    """Return the deposit address of a swap.

    :raises ValueError: when the network has no deposit addresses.
    """
    addresses = source.contracts.deposit_addresses
    if addresses is None:
        raise ValueError(f"{source.name} has no deposit addresses")
    return deposit_address(addresses.factory, addresses.init_code_hash, sequence_number)


def address_action(
    source: Network, token: Token, *, sequence_number: int, base_units: int
) -> TransferAction:
    """Return the transfer to the swap's own address; it needs neither call data nor a supported
    wallet.

    :raises ValueError: when the network has no deposit addresses.
    """
    return TransferAction(
        to_address=own_address(source, sequence_number),
        base_units=base_units,
        token=token,
        call_data=None,
        gas_limit=None,
        encoded_args=None,
        type=MANUAL_TRANSFER,
    )


def payment_uri(*, chain_id: str, address: str, contract: str | None, base_units: int) -> str:
    """Return a manual transfer as wallets read it from a QR code (EIP-681)."""
    if contract is None:
        value = f"?value={base_units}" if base_units else ""
        return f"ethereum:{address}@{chain_id}{value}"
    amount = f"&uint256={base_units}" if base_units else ""
    return f"ethereum:{contract}@{chain_id}/transfer?address={address}{amount}"


FUNDING_ACTIONS: Final[Mapping[FundingMethod, Callable[..., TransferAction]]] = {
    "deposit_address": address_action,
    "depository": depository_action,
    "direct": direct_action,
}


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
