"""What the hash of a transaction looks like."""

from __future__ import annotations

import re
from typing import Final

_EVM_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")


def is_transaction_hash(text: str) -> bool:
    return _EVM_HASH.fullmatch(text) is not None
