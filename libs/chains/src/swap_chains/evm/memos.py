"""The memo of a direct transfer: how it is written, and where in a transaction it is found.

A coin brings it as its call data, and the Treasury logs it. A token's log says nothing of the call
that caused it, so its memo stands behind the arguments of `transfer` and is looked for in what the
transaction was sent with: only where the token's sender is told so, and nobody beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from swap_chains.events import Movement, TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.user_operations import ENTRY_POINTS, calls_of

MEMO_TAG: Final = b"SWAP"  # no selector of the Treasury, which would take it for a call


@dataclass(frozen=True, slots=True)
class Sent:
    """What a transaction was sent with, by whom and to whom; None where it made a contract."""

    from_address: str
    to_address: str | None
    data: bytes


def encode_memo(sequence_number: int) -> bytes:
    """Return what makes a transfer a swap's deposit: the tag, and the number right-aligned.

    :raises ValueError: when it is no sequence number.
    """
    return MEMO_TAG + bytes.fromhex(codec.depository_id(sequence_number)[2 + 2 * len(MEMO_TAG) :])


def memo_number(memo: bytes) -> int | None:
    """Return the sequence number in a memo; None when it is not one of ours."""
    if len(memo) != codec.WORD or not memo.startswith(MEMO_TAG):
        return None
    return codec.sequence_number_of("0x" + memo[len(MEMO_TAG) :].hex())


def encode_transfer_with_memo(to_address: str, base_units: int, memo: bytes) -> bytes:
    """Encode a token's `transfer`; the token reads two arguments and leaves the rest alone."""
    return codec.encode_transfer(to_address, base_units) + memo


def unexplained(movements: Iterable[Movement], treasury: str) -> list[str]:
    """List the transactions that moved tokens to the Treasury, and no Depository log says why."""
    found = (m.id.transaction_hash for m in movements if _is_unexplained(m, treasury))
    return list(dict.fromkeys(found))


def with_memos(
    movements: Sequence[Movement], treasury: str, transactions: Mapping[str, Sent]
) -> tuple[Movement, ...]:
    """Give the tokens' transfers the memos that their transactions carry.

    A memo counts for a transfer only if it can be meant for no other: two of one amount by one
    sender, whatever their tokens, have none.
    """
    rivals = Counter(_likeness(m) for m in movements if _is_unexplained(m, treasury))
    return tuple(
        replace(m, memo=_find(transactions[m.id.transaction_hash], m))
        if _is_unexplained(m, treasury) and rivals[_likeness(m)] == 1
        else m
        for m in movements
    )


def _is_unexplained(movement: Movement, treasury: str) -> TypeGuard[TokenTransfer]:
    return (
        isinstance(movement, TokenTransfer)
        and movement.claimed_by is None
        and movement.to_address.lower() == treasury
    )


def _likeness(transfer: TokenTransfer) -> tuple[str, str, int]:
    return transfer.id.transaction_hash, transfer.from_address, transfer.base_units


def _find(sent: Sent, transfer: TokenTransfer) -> bytes:
    """Return the memo behind the one call that can have caused the transfer, or nothing.

    A second such call, with a memo or without, leaves open whose transfer it was.
    """
    call = codec.encode_transfer(transfer.to_address, transfer.base_units)
    orders = [order for order in _orders(sent, transfer, call) if call in order]
    if len(orders) != 1:
        return b""
    place = orders[0].find(call)
    if orders[0].find(call, place + 1) >= 0:
        return b""
    memo = orders[0][place + len(call) :][: codec.WORD]
    return b"" if memo_number(memo) is None else memo


def _orders(sent: Sent, transfer: TokenTransfer, call: bytes) -> list[bytes]:
    """Return what the one whose tokens were moved was told to do.

    The sender of a call to the token itself, the wallet that was called, and of a bundle the wallet
    that signed an operation. Whatever else stands in a transaction may be a stranger's words: one
    who carries another's signed order, or an operation of his own that fails.
    """
    to_address, owner = (sent.to_address or "").lower(), transfer.from_address.lower()
    if to_address == transfer.token.lower():
        is_caller = sent.from_address.lower() == owner
        return [sent.data] if is_caller and sent.data.startswith(call) else []
    if to_address == owner:
        return [sent.data]
    return calls_of(sent.data, owner) if to_address in ENTRY_POINTS else []
