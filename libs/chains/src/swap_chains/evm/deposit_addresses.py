"""Deposit addresses: where a swap's own is, and the call that sweeps many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from swap_chains.evm import codec

SWEEP: Final = codec.selector("sweep((bytes32,address)[])")
ADDRESS_OF: Final = codec.selector("addressOf(bytes32)")
TREASURY: Final = codec.selector("treasury()")
INIT_CODE_HASH: Final = codec.selector("initCodeHash()")

_ADDRESS_BYTES: Final = 20


@dataclass(frozen=True, slots=True)
class Sweep:
    """All there is of one token at one deposit address."""

    sequence_number: int
    token: str


def salt_of(sequence_number: int) -> bytes:
    """Return the salt of a swap's address: its sequence number as a right-aligned uint256.

    :raises ValueError: when it is no sequence number.
    """
    return bytes.fromhex(codec.depository_id(sequence_number)[2:])


def deposit_address(factory: str, init_code_hash: str, sequence_number: int) -> str:
    """Return where a factory has, or will have, the deposit address of a swap (CREATE2)."""
    prefix = b"\xff" + bytes.fromhex(factory[2:]) + salt_of(sequence_number)
    digest = codec.keccak(prefix + bytes.fromhex(init_code_hash[2:]))
    return codec.checksum_address("0x" + digest[-_ADDRESS_BYTES:].hex())


def encode_sweep(sweeps: Sequence[Sweep]) -> bytes:
    words = (salt_of(s.sequence_number) + codec.address_word(s.token) for s in sweeps)
    return b"".join((SWEEP, codec.uint_word(codec.WORD), codec.uint_word(len(sweeps)), *words))


def encode_address_of(sequence_number: int) -> bytes:
    return ADDRESS_OF + salt_of(sequence_number)
