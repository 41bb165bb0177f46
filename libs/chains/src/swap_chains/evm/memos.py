"""The memo of a direct transfer: how it is written, and when it is proven to be its owner's.

The Treasury logs the call data of a coin; a token's log has none. Both logs leave open who wrote
the memo, so it counts only in a call that the value's owner signed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from swap_chains.events import Movement, NativeReceived, TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.wallet_calls import SignedCall, Transaction, signed_calls

MEMO_TAG: Final = b"SWAP"  # no selector of the Treasury, which would take it for a call
DirectTransfer = TokenTransfer | NativeReceived


def encode_memo(sequence_number: int) -> bytes:
    """Return what makes a transfer a swap's deposit: the tag, and the number right-aligned.

    :raises ValueError: when it is no sequence number.
    """
    return MEMO_TAG + bytes.fromhex(codec.depository_id(sequence_number)[2 + 2 * len(MEMO_TAG) :])


def memo_number(memo: bytes) -> int | None:
    """Return the sequence number in a memo; None when it is not the service's."""
    if len(memo) != codec.WORD or not memo.startswith(MEMO_TAG):
        return None
    return codec.sequence_number_of("0x" + memo[len(MEMO_TAG) :].hex())


def encode_transfer_with_memo(to_address: str, base_units: int, memo: bytes) -> bytes:
    """Encode a token's `transfer`; the token reads two arguments and leaves the rest alone."""
    return codec.encode_transfer(to_address, base_units) + memo


def find_memo_candidates(movements: Iterable[Movement], treasury: str) -> list[str]:
    """List the transactions of transfers to the Treasury that may contain a memo."""
    found = (m.id.transaction_hash for m in movements if _needs_proof(m, treasury))
    return list(dict.fromkeys(found))


def with_proven_memos(
    movements: Sequence[Movement], treasury: str, transactions: Mapping[str, Transaction]
) -> tuple[Movement, ...]:
    """Leave each direct transfer the memo that its owner signed for it, and no other.

    Equal transfers by one owner in one transaction have a memo only where the logs show which is
    which: coins do, tokens do not.

    :param treasury: in lower case.
    """
    equal = Counter(_transfer_key(m) for m in movements if _needs_proof(m, treasury))
    proven: list[Movement] = []
    for movement in movements:
        if _needs_proof(movement, treasury):
            transaction = transactions[movement.id.transaction_hash]
            calls = signed_calls(transaction, movement.from_address.lower())
            memo = _signed_memo(movement, calls, treasury, equal=equal[_transfer_key(movement)])
            proven.append(replace(movement, memo=memo))
        else:
            proven.append(movement)
    return tuple(proven)


def _needs_proof(movement: Movement, treasury: str) -> TypeGuard[DirectTransfer]:
    """Whether a memo could credit it. A coin without one in its log has none to prove."""
    if not isinstance(movement, DirectTransfer) or movement.claimed_by is not None:
        return False
    if isinstance(movement, NativeReceived):
        return memo_number(movement.memo) is not None
    return movement.to_address.lower() == treasury


def _transfer_key(transfer: DirectTransfer) -> tuple[str, str, str, int, bytes]:
    token = transfer.token if isinstance(transfer, TokenTransfer) else codec.ZERO_ADDRESS
    of_log = (transfer.id.transaction_hash, transfer.from_address, token)
    return *of_log, transfer.base_units, transfer.memo


def _signed_memo(
    transfer: DirectTransfer, calls: Sequence[SignedCall], treasury: str, *, equal: int
) -> bytes:
    if isinstance(transfer, TokenTransfer):
        return _tokens_memo(transfer, calls) if equal == 1 else b""
    same = [
        call
        for call in calls
        if (call.to_address, call.value) == (treasury, transfer.base_units)
        and call.data == transfer.memo
    ]
    return transfer.memo if len(same) == equal else b""


def _tokens_memo(transfer: TokenTransfer, calls: Sequence[SignedCall]) -> bytes:
    """Return the memo behind the one signed call that can have caused the transfer.

    A second such call, with a memo or without, leaves open which of them did.
    """
    order = codec.encode_transfer(transfer.to_address, transfer.base_units)
    token = transfer.token.lower()
    found = [c for c in calls if c.to_address == token and c.data[: len(order)] == order]
    if len(found) != 1:
        return b""
    rest = found[0].data[len(order) :]
    memo = bytes(rest[: codec.WORD] if found[0].is_outermost else rest)
    return b"" if memo_number(memo) is None else memo
