"""The memo of a direct transfer: how it is written, and where in a transaction it is found.

A coin brings it as its call data, and the Treasury logs it. A token's log says nothing of the call
that caused it, so its memo stands behind the arguments of `transfer` and is looked for in what the
transaction was sent with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from swap_chains.events import Movement, TokenTransfer
from swap_chains.evm import codec

MEMO_TAG: Final = b"SWAP"  # no selector of the Treasury, which would take it for a call


@dataclass(frozen=True, slots=True)
class Sent:
    """What a transaction was sent with, and to whom; None where it made a contract."""

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

    A memo counts for a transfer only if it can be meant for no other: two of one amount, whatever
    their tokens, have none.
    """
    rivals = Counter(_amount(m) for m in movements if _is_unexplained(m, treasury))
    return tuple(
        replace(m, memo=_find(transactions[m.id.transaction_hash], m))
        if _is_unexplained(m, treasury) and rivals[_amount(m)] == 1
        else m
        for m in movements
    )


def _is_unexplained(movement: Movement, treasury: str) -> TypeGuard[TokenTransfer]:
    return (
        isinstance(movement, TokenTransfer)
        and movement.claimed_by is None
        and movement.to_address.lower() == treasury
    )


def _amount(transfer: TokenTransfer) -> tuple[str, int]:
    return transfer.id.transaction_hash, transfer.base_units


def _find(sent: Sent, transfer: TokenTransfer) -> bytes:
    """Return the memo behind the one call that can have caused the transfer, or nothing.

    A second such call, with a memo or without, leaves open whose transfer it was. A call of the
    token itself is that call: what stands behind another function's arguments caused nothing.
    """
    call = codec.encode_transfer(transfer.to_address, transfer.base_units)
    place = sent.data.find(call)
    if place < 0 or sent.data.find(call, place + 1) >= 0:
        return b""
    if place > 0 and (sent.to_address or "").lower() == transfer.token.lower():
        return b""
    memo = sent.data[place + len(call) :][: codec.WORD]
    return b"" if memo_number(memo) is None else memo
