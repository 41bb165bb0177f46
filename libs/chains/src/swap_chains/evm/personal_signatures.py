"""Text that a wallet signs: `personal_sign` (EIP-191) of keys, EIP-1271 of wallets with code."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from swap_chains.errors import NodeRefused
from swap_chains.evm.codec import WORD, keccak, selector, to_quantity, uint_word
from swap_chains.evm.provider_agreement import Place, read_at_head_of_two
from swap_chains.evm.rpc import Node, Request, Rpc

IS_VALID_SIGNATURE: Final = selector("isValidSignature(bytes32,bytes)")
# Any answer other than these bytes in a word is a refusal.
VALID: Final = IS_VALID_SIGNATURE.ljust(WORD, b"\0")
VERIFY_GAS: Final = 1_000_000


class WalletAnswer(Enum):
    """The answer of an address's code about a signature."""

    NO_CODE = "no_code"
    REFUSED = "refused"
    ACCEPTED = "accepted"


def personal_digest(text: str) -> bytes:
    """Return what is signed of a text."""
    data = text.encode()
    return keccak(b"\x19Ethereum Signed Message:\n" + str(len(data)).encode() + data)


def encode_is_valid_signature(digest: bytes, signature: bytes) -> bytes:
    padded = signature + bytes(-len(signature) % WORD)
    return IS_VALID_SIGNATURE + digest + uint_word(2 * WORD) + uint_word(len(signature)) + padded


async def ask_wallet(rpc: Rpc, wallet: str, digest: bytes, signature: bytes) -> WalletAnswer:
    """Ask the code at an address whether a signature is its own, as of now.

    Where nodes of two providers are configured, two report the same at the same recent block.

    :raises ChainError: when no node answers, or no two of several alike.
    """
    message = {
        "from": wallet,
        "to": wallet,
        "value": to_quantity(0),
        "data": "0x" + encode_is_valid_signature(digest, signature).hex(),
        "gas": to_quantity(VERIFY_GAS),
    }

    async def read(node: Node, place: Place) -> WalletAnswer:
        requests = [
            Request("eth_getCode", (wallet, place)),
            Request("eth_call", (message, place)),
        ]
        code, returned = await node.batch(requests, unit=len(requests))
        if isinstance(code, NodeRefused):
            raise code
        return _answer(code, returned)

    return await read_at_head_of_two(rpc, read)


def _answer(code: str, returned: Any) -> WalletAnswer:
    if not bytes.fromhex(code[2:]):
        return WalletAnswer.NO_CODE
    # The node has the block's state, so an error is the call's: code that fails accepts nothing.
    is_valid = not isinstance(returned, NodeRefused) and bytes.fromhex(returned[2:]) == VALID
    return WalletAnswer.ACCEPTED if is_valid else WalletAnswer.REFUSED
