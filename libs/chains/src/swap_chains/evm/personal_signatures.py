"""Text that a wallet signs: `personal_sign` (EIP-191) of keys, EIP-1271 of wallets with code."""

from __future__ import annotations

from typing import Final

from swap_chains.evm.codec import WORD, keccak, selector, uint_word
from swap_chains.evm.state import EvmState
from swap_chains.ports import Call

IS_VALID_SIGNATURE: Final = selector("isValidSignature(bytes32,bytes)")
# A wallet that says more, or less, than these bytes in a word says no.
VALID: Final = IS_VALID_SIGNATURE.ljust(WORD, b"\0")
VERIFY_GAS: Final = 1_000_000


def personal_digest(text: str) -> bytes:
    """Return what is signed of a text."""
    data = text.encode()
    return keccak(b"\x19Ethereum Signed Message:\n" + str(len(data)).encode() + data)


def encode_is_valid_signature(digest: bytes, signature: bytes) -> bytes:
    padded = signature + bytes(-len(signature) % WORD)
    return IS_VALID_SIGNATURE + digest + uint_word(2 * WORD) + uint_word(len(signature)) + padded


async def has_code(state: EvmState, wallet: str) -> bool:
    return bool(await state.with_code([wallet]))


async def is_valid(state: EvmState, wallet: str, digest: bytes, signature: bytes) -> bool:
    """Whether a wallet with code takes a signature for its own, as of now.

    :raises ChainError: when no node answers.
    """
    data = encode_is_valid_signature(digest, signature)
    call = Call(to=wallet, value=0, data=data, gas_limit=VERIFY_GAS)
    [results] = await state.simulate([call], sender=wallet)
    return results.succeeded and results.data == VALID
