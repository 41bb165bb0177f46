"""How many requests a caller may make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from swap_api.domain.keys import Allowances, Caller

MINUTE: Final = timedelta(minutes=1)
BURST: Final = 2  # so many minutes' worth may come at once


class Kind(StrEnum):
    """What a request costs its caller."""

    READ = "read"
    PRICE = "price"
    CREATE = "create"


@dataclass(frozen=True, slots=True)
class Window:
    """One counter of requests."""

    key: str
    limit: int
    length: timedelta


@dataclass(frozen=True, slots=True)
class Rates:
    """The deployment's rule: requests a minute of one client, and what an app may in clients."""

    reads: int = 1200
    prices: int = 120
    creates: int = 30
    ceiling_factor: int = 100

    def of(self, kind: Kind, allowances: Allowances) -> int:
        match kind:
            case Kind.READ:
                return allowances.reads or self.reads
            case Kind.PRICE:
                return allowances.prices or self.prices
            case Kind.CREATE:
                return allowances.creates or self.creates

    def ceiling(self, kind: Kind, allowances: Allowances) -> int:
        return self.of(kind, allowances) * (allowances.ceiling_factor or self.ceiling_factor)

    def windows(self, caller: Caller, address: str, kind: Kind) -> Sequence[Window]:
        """Return what a request counts in, the one it is told about first.

        All users of a web page share its publishable key, so they are told apart by their
        addresses; the ceiling keeps the app as a whole in bounds.
        """
        rate = self.of(kind, caller.allowances)
        ceiling = _window(f"{caller.app_id}/{kind}", self.ceiling(kind, caller.allowances))
        if not caller.is_publishable:
            return (ceiling,)
        return (_window(f"{caller.app_id}/{kind}/{address}", rate), ceiling)


def _window(key: str, rate: int) -> Window:
    return Window(key, rate * BURST, MINUTE * BURST)
