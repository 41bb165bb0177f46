"""Signatures of accounts with a key: brought into the one form that tokens take, and recovered."""

from __future__ import annotations

from typing import Final

from coincurve import PublicKey

from swap_chains.evm.codec import checksum_address, keccak

SIGNATURE_BYTES: Final = 65
COMPACT_BYTES: Final = 64
_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
FIRST_V: Final = 27
_WORD: Final = 32


def normalise(signature: bytes) -> bytes:
    """Return r, s and v as tokens take them: s in its lower half, v 27 or 28, no ERC-2098.

    Bytes that cannot be a key's signature are returned unchanged: a wallet with code may accept
    them.
    """
    if len(signature) == COMPACT_BYTES:
        packed = int.from_bytes(signature[_WORD:], "big")
        signature = _join(signature[:_WORD], packed & (2**255 - 1), packed >> 255)
    if len(signature) != SIGNATURE_BYTES:
        return signature
    s, v = int.from_bytes(signature[_WORD : 2 * _WORD], "big"), signature[-1]
    parity = v - FIRST_V if v >= FIRST_V else v
    if parity not in (0, 1) or not 0 < s < _ORDER:
        return signature
    if s > _ORDER // 2:
        s, parity = _ORDER - s, 1 - parity
    return _join(signature[:_WORD], s, parity)


def recover(digest: bytes, signature: bytes) -> str | None:
    """Return the account that made a normalised signature of a digest; None when no key did."""
    if len(signature) != SIGNATURE_BYTES or signature[-1] - FIRST_V not in (0, 1):
        return None
    recoverable = signature[:-1] + bytes([signature[-1] - FIRST_V])
    try:
        key = PublicKey.from_signature_and_message(recoverable, digest, hasher=None)
    except Exception:  # coincurve raises a bare one
        return None
    return checksum_address("0x" + keccak(key.format(compressed=False)[1:])[-20:].hex())


def _join(r: bytes, s: int, parity: int) -> bytes:
    return r + s.to_bytes(_WORD, "big") + bytes([FIRST_V + parity])
