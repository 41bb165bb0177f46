"""What confirms a deposit beside its depth: a second provider, or a cap on a single one.

On a network with a second provider, the tier of a token's inflow defines whether a deposit needs
both. The unverified sums choose the tier. On a live network with one provider, a cap limits what
its reports alone confirm in a span of time. A network without either rule confirms by depth alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from swap_chain_watcher.domain.movements import Movement, PublishedVersion, Subject, TrackedMovement
from swap_chain_watcher.domain.policy import Policy

Key = tuple[str, UUID]  # block hash and movement


@dataclass(frozen=True, slots=True)
class EvidenceQuery:
    """What has to be read, under the cursor's lock, before a batch is decided."""

    # Open movements: has a second provider verified them?
    awaiting_second_provider: frozenset[UUID] = frozenset()
    # Sums per token that no second provider has verified: they choose a new deposit's tier.
    needs_unverified_sums: bool = False
    # Sums per token that one provider's reports alone have confirmed since then: they use the cap.
    single_provider_since: datetime | None = None

    @classmethod
    def of(
        cls, policy: Policy, open_: Iterable[TrackedMovement], *, has_deposits: bool, at: datetime
    ) -> EvidenceQuery:
        """Return what the network's rules need; nothing where depth alone confirms."""
        if policy.has_second_provider:
            waiting = frozenset(t.movement.id for t in open_ if t.awaits_second_provider)
            return cls(waiting, needs_unverified_sums=has_deposits)
        if policy.caps is None:
            return cls()
        return cls(single_provider_since=at - policy.caps.span)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The answer to an EvidenceQuery, as stored; tokens in lower case."""

    verified_keys: AbstractSet[Key] = frozenset()
    unverified_sums: Mapping[str, int] = field(default_factory=dict)
    single_provider_sums: Mapping[str, int] = field(default_factory=dict)


NO_EVIDENCE_QUERY: Final = EvidenceQuery()


class BatchContext(NamedTuple):
    """What is stored about a batch before it is decided."""

    known: Mapping[Subject, PublishedVersion]  # the last publication about each, if any
    targets: frozenset[str]  # senders that are deposit addresses, in lower case: an own transfer
    evidence: Evidence = Evidence()


@dataclass(frozen=True, slots=True)
class Exposure:
    """What one provider's reports alone have confirmed of a token, beside its cap."""

    network: str
    token: str
    cap_base_units: int
    used_base_units: int


@dataclass(frozen=True, slots=True)
class WithheldDeposits:
    """How many deposits are deep enough, and wait for a second provider or for a cap."""

    network: str
    deposits: int
    oldest: timedelta


class CapBudget:
    """What one provider's reports alone may still confirm of each token, the oldest deposit first.

    A deposit beyond the budget waits, and blocks younger ones of its token. One that is larger than
    the whole cap blocks none: only another provider or a higher cap releases it.
    """

    def __init__(self, caps: Mapping[str, int], used: Mapping[str, int]) -> None:
        self._caps = caps
        self._used = dict(used)
        self._closed: set[str] = set()

    def reserve(self, movement: Movement) -> bool:
        """Whether the budget has room for the deposit; if so, the room is used up."""
        token, cap = movement.token.lower(), self._caps.get(movement.token.lower(), 0)
        used = self._used.get(token, 0) + movement.base_units
        if movement.base_units > cap or token in self._closed:
            return False
        if used > cap:
            self._closed.add(token)
            return False
        self._used[token] = used
        return True
