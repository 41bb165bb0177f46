"""What wallets signed for in a bundle of user operations (ERC-4337).

Only an EntryPoint checks that each wallet agreed to its operation. Anybody else may carry words
that look like one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from swap_chains.evm.codec import WORD, selector

# One address on every network: no other code can come to stand there. Versions 0.6 to 0.9.
ENTRY_POINTS: Final = frozenset(
    {
        "0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789",
        "0x0000000071727de22e5e9d8baf0edac6f37da032",
        "0x4337084d9e255ff0702461cf8895ce9e3b5ff108",
        "0x433709009b8330fda32311df1c2afa402ed8d009",
    }
)
# Both forms of an operation begin alike: sender, nonce, and where initCode and callData stand.
_HANDLE_OPS: Final = frozenset(
    {
        selector(
            "handleOps((address,uint256,bytes,bytes,"
            "uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)"
        ),
        selector(
            "handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)"
        ),
    }
)
_SELECTOR_BYTES: Final = 4
_CALL_DATA: Final = 3 * WORD


def calls_of(data: bytes, wallet: str) -> list[bytes]:
    """Return what a wallet's own operations of a bundle call it with, as the EntryPoint reads it.

    Words that are no bundle are nobody's operations.

    :param wallet: in lower case.
    """
    if data[:_SELECTOR_BYTES] not in _HANDLE_OPS:
        return []
    try:
        return list(_calls_of(data[_SELECTOR_BYTES:], wallet))
    except ValueError:
        return []


def _calls_of(arguments: bytes, wallet: str) -> Iterator[bytes]:
    operations = _number(arguments, 0) + WORD
    for nth in range(_number(arguments, operations - WORD)):
        operation = operations + _number(arguments, operations + nth * WORD)
        if _number(arguments, operation) == int(wallet, 16):
            start = operation + _number(arguments, operation + _CALL_DATA) + WORD
            end = start + _number(arguments, start - WORD)
            if end > len(arguments):
                raise ValueError("call data behind the end")
            yield arguments[start:end]


def _number(data: bytes, place: int) -> int:
    word = data[place : place + WORD]
    if len(word) != WORD:
        raise ValueError(f"no word at {place}")
    return int.from_bytes(word, "big")
