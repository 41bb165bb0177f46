"""How far the reports of nodes are accepted: what a second provider has verified, and the caps."""

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

    awaiting_second_provider: frozenset[UUID] = (
        frozenset()
    )  # which of these a second provider has verified
    needs_unverified_sums: bool = False  # what of each token no second provider has verified
    single_provider_since: datetime | None = (
        None  # what was confirmed by one provider's report since then
    )

    @classmethod
    def of(
        cls, policy: Policy, open_: Iterable[TrackedMovement], *, has_deposits: bool, at: datetime
    ) -> EvidenceQuery:
        """Return what a network's configuration makes necessary: nothing where no rule applies."""
        if policy.has_second_provider:
            waiting = frozenset(t.movement.id for t in open_ if t.awaits_second_provider)
            return cls(waiting, needs_unverified_sums=has_deposits)
        if policy.caps is None:
            return cls()
        return cls(single_provider_since=at - policy.caps.span)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is stored of it; tokens in lower case."""

    verified_keys: AbstractSet[Key] = frozenset()
    unverified_sums: Mapping[str, int] = field(default_factory=dict)
    single_provider_sums: Mapping[str, int] = field(default_factory=dict)


NO_EVIDENCE_QUERY: Final = EvidenceQuery()


class BatchContext(NamedTuple):
    """What is stored about a batch before it is decided."""

    known: Mapping[Subject, PublishedVersion]  # the last word ever published, where there was one
    targets: frozenset[str]  # the deposit addresses among the senders, in lower case
    evidence: Evidence = Evidence()


@dataclass(frozen=True, slots=True)
class Exposure:
    """What one provider's report has confirmed of a token, and how much it may."""

    network: str
    token: str
    cap_base_units: int
    used_base_units: int


@dataclass(frozen=True, slots=True)
class WithheldDeposits:
    """Deposits that are deep enough, and wait for a second provider or for room under a cap."""

    network: str
    deposits: int
    oldest: timedelta


class CapBudget:
    """What of each token may still be confirmed by one provider's report, the oldest first.

    A deposit that has no room waits, and no younger one of its token goes before it. One that is
    larger than the whole cap holds up nothing: only another provider or a higher cap releases it.
    """

    def __init__(self, caps: Mapping[str, int], used: Mapping[str, int]) -> None:
        self._caps = caps
        self._used = dict(used)
        self._closed: set[str] = set()

    def reserve(self, movement: Movement) -> bool:
        """Whether there is room for the deposit, which then is taken."""
        token, cap = movement.token.lower(), self._caps.get(movement.token.lower(), 0)
        used = self._used.get(token, 0) + movement.base_units
        if movement.base_units > cap or token in self._closed:
            return False
        if used > cap:
            self._closed.add(token)
            return False
        self._used[token] = used
        return True
