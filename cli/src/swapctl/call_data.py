"""The call data of the two contract calls that `swapctl treasury plan` prints."""

from __future__ import annotations

import re
from typing import Final

from Crypto.Hash import keccak

# First four bytes of the hash of each function's name and types; a test computes them.
SELECTORS: Final = {
    "withdraw(address,address,uint256)": "d9caed12",
    "transfer(address,uint256)": "a9059cbb",
}
ADDRESS: Final = re.compile("0x[0-9a-fA-F]{40}")
WORD_BITS: Final = 256


class WrongAddress(ValueError):
    """An address is malformed, or its EIP-55 checksum is wrong."""


def encode_call(function: str, *arguments: str | int) -> str:
    """Return the data of a call with addresses and numbers as arguments.

    :raises WrongAddress: when a text is no address, or has a wrong EIP-55 checksum.
    :raises ValueError: when a number is no uint256.
    """
    return "0x" + SELECTORS[function] + "".join(map(_word, arguments))


def check_address(address: str) -> str:
    """Return an address unchanged. One case throughout carries no checksum.

    :raises WrongAddress: when it is malformed, or its EIP-55 checksum is wrong.
    """
    if not ADDRESS.fullmatch(address):
        raise WrongAddress(f"{address!r} is not an address: 0x and 40 hexadecimal digits")
    digits = address[2:]
    if digits not in (digits.lower(), digits.upper(), _to_checksum(digits)):
        raise WrongAddress(f"{address} has a wrong checksum: a letter or its case is wrong")
    return address


def _to_checksum(digits: str) -> str:
    lower = digits.lower()
    marks = keccak.new(data=lower.encode(), digest_bits=256).hexdigest()
    return "".join(
        digit.upper() if mark >= "8" else digit for digit, mark in zip(lower, marks, strict=False)
    )


def _word(argument: str | int) -> str:
    if isinstance(argument, int):
        if not 0 <= argument < 1 << WORD_BITS:
            raise ValueError(f"{argument} is not a uint256")
        return f"{argument:064x}"
    return check_address(argument)[2:].lower().zfill(64)
