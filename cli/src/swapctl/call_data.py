"""The bytes of the few contract calls that a plan prints."""

from __future__ import annotations

from typing import Final

# First four bytes of the hash of each function's name and types; a test computes them.
SELECTORS: Final = {
    "withdraw(address,address,uint256)": "d9caed12",
    "transfer(address,uint256)": "a9059cbb",
}


def encode_call(function: str, *arguments: str | int) -> str:
    """Return the data of a call with addresses and numbers as arguments."""
    return "0x" + SELECTORS[function] + "".join(map(_word, arguments))


def _word(argument: str | int) -> str:
    if isinstance(argument, int):
        return f"{argument:064x}"
    return argument.removeprefix("0x").lower().zfill(64)
