"""What a text in the search field of swaps is."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final
from uuid import UUID

HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")


class Searched(Enum):
    """What is looked for."""

    SWAP = auto()
    TRANSACTION = auto()
    ADDRESS = auto()
    REFERENCE = auto()


def classify(text: str) -> Searched:
    """Return what the text can be; whatever has no form of its own is a reference."""
    if HASH.fullmatch(text):
        return Searched.TRANSACTION
    if ADDRESS.fullmatch(text):
        return Searched.ADDRESS
    try:
        return Searched.SWAP if str(UUID(text)) == text.casefold() else Searched.REFERENCE
    except ValueError:
        return Searched.REFERENCE
