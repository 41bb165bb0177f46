"""Recipients with a meaning in test environments: their keys do not exist."""

from typing import Final

REHEARSED: Final = "0x7357000000000000000000000000000000000"  # and three digits
DIGITS: Final = 3


def is_rehearsed(address: str) -> bool:
    """Return whether what is paid there is lost."""
    prefix, digits = address[:-DIGITS].lower(), address[-DIGITS:]
    return prefix == REHEARSED and digits.isascii() and digits.isdigit()
