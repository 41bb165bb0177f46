"""What a text in the search field of swaps is."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final
from uuid import UUID

HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")


class SearchKind(Enum):
    """What is looked for."""

    SWAP = auto()
    TRANSACTION = auto()
    ADDRESS = auto()
    REFERENCE = auto()


def classify(text: str) -> SearchKind:
    """Return what the text can be; a text without a known form is a reference."""
    if HASH.fullmatch(text):
        return SearchKind.TRANSACTION
    if ADDRESS.fullmatch(text):
        return SearchKind.ADDRESS
    try:
        return SearchKind.SWAP if str(UUID(text)) == text.casefold() else SearchKind.REFERENCE
    except ValueError:
        return SearchKind.REFERENCE
