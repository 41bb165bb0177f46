"""Limits how many event streams are open at once: each one holds a connection to the api."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

PER_HOLDER_MAX: Final = 10
ALL_MAX: Final = 200
# One user of IPv6 has at least so many addresses.
IPV6_PREFIX: Final = 64


class StreamSlots:
    """Slots for open streams, counted in one process: its connections are what is limited."""

    def __init__(self, *, per_holder: int = PER_HOLDER_MAX, in_all: int = ALL_MAX) -> None:
        self._per_holder = per_holder
        self._in_all = in_all
        self._open: Counter[str] = Counter()

    def take(self, holder: str) -> bool:
        """Take a slot; return whether there was one.

        :param holder: an address, or the account of a member.
        """
        key = _counted_as(holder)
        if self._open.get(key, 0) >= self._per_holder or self._open.total() >= self._in_all:
            return False
        self._open[key] += 1
        return True

    def release(self, holder: str) -> None:
        """Give a slot back that was taken."""
        key = _counted_as(holder)
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]  # or every holder that ever came is held


def _counted_as(holder: str) -> str:
    try:
        known = ip_address(holder)
    except ValueError:
        return holder
    if isinstance(known, IPv6Address):
        return str(known.ipv4_mapped or IPv6Network((known, IPV6_PREFIX), strict=False))
    return str(known)
