"""The bloom of a header: which logs its block cannot have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_chains.evm.codec import from_hex, keccak

BLOOM_BYTES: Final = 256
_BITS_EACH: Final = 3
_BIT_MAX: Final = BLOOM_BYTES * 8 - 1


def may_contain(bloom: str, address: str, topics: Sequence[str]) -> bool:
    """Return whether a block with this bloom may have the log; False is certain.

    :raises ValueError: when it is no bloom.
    """
    bits = int.from_bytes(_read(bloom), "big")
    return all(bits & _mask(from_hex(item)) == _mask(from_hex(item)) for item in (address, *topics))


def _read(bloom: str) -> bytes:
    read = from_hex(bloom)
    if len(read) != BLOOM_BYTES:
        raise ValueError(f"a bloom of {len(read)} bytes")
    return read


def _mask(item: bytes) -> int:
    digest = keccak(item)
    pairs = (digest[2 * n : 2 * n + 2] for n in range(_BITS_EACH))
    mask = 0
    for pair in pairs:
        mask |= 1 << (int.from_bytes(pair, "big") & _BIT_MAX)
    return mask
