"""Deposit addresses: which are followed, and when their coins are counted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swap_chains.events import Block


@dataclass(frozen=True, slots=True)
class Target:
    """A deposit address to watch from `since` on."""

    network: str
    address: str
    since: datetime


@dataclass(frozen=True, slots=True)
class CountedAddresses:
    """What was counted at a block: every address assigned after `young_since`, and others."""

    block: Block
    young_since: datetime
    first: frozenset[str]  # young ones, for the first time
    old: tuple[str, ...]
    incomplete: frozenset[str]  # with part of a rise that is not published yet


@dataclass(frozen=True, slots=True)
class DueAddresses:
    """The addresses with coins to be counted now."""

    young: tuple[str, ...]  # with every block
    old: tuple[str, ...]  # some of the others, those that waited longest
    has_new: bool  # whether addresses wait to be taken up
    young_since: datetime  # the young ones were assigned after it
    uncounted: frozenset[str] = frozenset()  # young ones that were never counted

    @property
    def addresses(self) -> tuple[str, ...]:
        return self.young + self.old
