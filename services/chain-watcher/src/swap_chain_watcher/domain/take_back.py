"""An operator's order about published logs that every provider denies: what it reverts. Pure.

A reorg is another thing: `decide.py` reverts its movements (`_Batch.revert`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from swap_chain_watcher.domain.denials import PROVIDERS_MIN
from swap_chain_watcher.domain.evidence import Evidence, Key
from swap_chain_watcher.domain.movement_mapping import to_movement
from swap_chain_watcher.domain.movements import (
    Kind,
    Movement,
    PublishedVersion,
    State,
    Subject,
    TrackedMovement,
    movement_id,
)
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.second_look import has_same_origin
from swap_chains.events import Block
from swap_chains.ports import BlockReport

# The settler has booked these as final, and reverses none of them by itself.
NEVER_TAKEN_BACK_FINAL: Final = frozenset({Kind.PAID, Kind.SWEPT, Kind.WITHDRAWN})


class TakeBackRefused(Exception):
    """A published log is not taken back: it is not proven that it was made up."""


@dataclass(frozen=True, slots=True)
class ReportedBlock:
    """What all providers report of one block, and the deposit addresses among the senders."""

    block: Block
    reports: Sequence[BlockReport]
    targets: frozenset[str] = frozenset()  # in lower case


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A stored movement, and the log that accounts for it where nothing is published."""

    is_published: bool
    claimed_by: Key | None


def _require_deniable(
    tracked: TrackedMovement, policy: Policy, *, watched: Collection[str]
) -> None:
    """
    :raises TakeBackRefused: when no node is queried for such a log, or it is booked irreversibly.
    """
    movement = tracked.movement
    if not policy.is_in_log_scope(movement, watched):
        raise TakeBackRefused(
            f"{_describe(movement)} is of a contract, token or address that nodes are not asked "
            "about today"
        )
    if tracked.state is State.CONFIRMED and movement.kind in NEVER_TAKEN_BACK_FINAL:
        raise TakeBackRefused(
            f"{_describe(movement)} is confirmed: the settler has booked it as final, and only a "
            "deposit is taken back then"
        )


def find_taken_back(
    published: Sequence[TrackedMovement],
    blocks: Mapping[str, ReportedBlock],
    policy: Policy,
    *,
    watched: Collection[str] = (),
) -> Sequence[TrackedMovement]:
    """Return the movements of one transaction that every provider denies.

    One that every provider reports is left alone: it is real, in the same transaction. Where
    something was taken back before, the rest may be real: the order came twice.

    :param published: also what is reverted.
    :param blocks: by hash, each block of the movements that are not.
    :param watched: the deposit addresses that nodes are queried about, in lower case.
    :raises TakeBackRefused: when fewer than two providers are configured, one gave no usable
        answer, providers contradict each other, or nothing is denied.
    """
    denied: list[TrackedMovement] = []
    standing = [tracked for tracked in published if tracked.state is not State.REVERTED]
    for tracked in standing:
        reported = blocks[tracked.movement.block.hash]
        _require_all_answered(tracked.movement, reported.reports)
        still = [
            report.provider
            for report in reported.reports
            if _reports(report, tracked, policy, targets=reported.targets)
        ]
        if not still:
            _require_deniable(tracked, policy, watched=watched)
            denied.append(tracked)
        elif len(still) < len(reported.reports):
            raise TakeBackRefused(
                f"{', '.join(still)} still reports {_describe(tracked.movement)}: take a node that "
                "is wrong out of the configuration first"
            )
    if not denied and len(standing) == len(published):
        raise TakeBackRefused(
            f"every provider reports {_describe(published[0].movement)}: it is real, and the "
            "network is resumed without it"
        )
    return denied


@dataclass(frozen=True, slots=True)
class Reverts:
    """What becomes of denied rows, and the versions of their subjects afterwards."""

    reverted: Sequence[TrackedMovement]  # to be published so
    silent: Sequence[TrackedMovement]  # the same log stands in its true block: no message
    restated: Sequence[TrackedMovement]  # true rows that become the last word again
    known: Mapping[Subject, PublishedVersion]


def decide_reverts(
    denied: Sequence[TrackedMovement],
    standing: Sequence[TrackedMovement],
    known: Mapping[Subject, PublishedVersion],
    *,
    ordered: Collection[str],
) -> Reverts:
    """Return what is published of denied rows: the versions of a log's blocks are one series.

    A real log may have been reported in a wrong block, too. A `reverted` would overrule it, and a
    payment for it would become a loss. So the row in its true block is left or made the last word.

    :param standing: every standing row of the same subjects. Those of the ordered transactions
        that are not denied are reported by every provider.
    :raises TakeBackRefused: when a payout stands also in a transaction that was not ordered.
    """
    gone = {tracked.key for tracked in denied}
    last_true = {t.movement.subject: t for t in sorted(standing, key=_version) if t.key not in gone}
    versions = dict(known)
    reverted: list[TrackedMovement] = []
    silent: list[TrackedMovement] = []
    restated: list[TrackedMovement] = []
    for tracked in denied:
        subject = tracked.movement.subject
        newest = versions[subject]
        other = last_true.get(subject)
        if other is None:
            last = replace(tracked, version=max(tracked.version, newest.version))
            reverted.append(last.with_state(State.REVERTED))
            versions[subject] = replace(newest, version=reverted[-1].version)
            continue
        if other.movement.transaction_hash not in ordered:
            raise TakeBackRefused(
                f"{_describe(tracked.movement)} shares its versions with "
                f"{_describe(other.movement)}: name that transaction in the order, too"
            )
        silent.append(tracked.with_state(State.REVERTED))
    for subject in dict.fromkeys(tracked.movement.subject for tracked in silent):
        other, newest = last_true[subject], versions[subject]
        if other.version < newest.version:
            restated.append(replace(other, version=newest.version + 2))  # above the silent rows
            versions[subject] = replace(newest, version=newest.version + 2)
    return Reverts(reverted, silent, restated, versions)


def _version(tracked: TrackedMovement) -> int:
    return tracked.version


def find_replacements(
    denied: Sequence[TrackedMovement],
    blocks: Mapping[str, ReportedBlock],
    policy: Policy,
    *,
    stored: Mapping[Key, StoredClaim],
    known: Mapping[Subject, PublishedVersion],
    evidence: Evidence,
) -> Sequence[TrackedMovement]:
    """Return the unpublished real movements of the denied transactions.

    A made-up log may have claimed a real receipt. A real deposit may have been published with a
    false sender or memo. What replaces it is only seen: the follower confirms it by the rules of
    any deposit.

    :param denied: as they are once they are taken back.
    :param stored: what is stored of these transactions in these blocks.
    :raises TakeBackRefused: when providers do not report it alike.
    """
    gone = {tracked.key for tracked in denied}
    transactions = {(t.movement.block.hash, t.movement.transaction_hash) for t in denied}
    unverified = dict(evidence.unverified_sums)
    found: list[TrackedMovement] = []
    for reported in blocks.values():
        for movement, count in _published_reports(reported, policy).items():
            if (movement.block.hash, movement.transaction_hash) not in transactions:
                continue
            if movement.key not in gone and not _is_hidden(stored.get(movement.key), gone):
                continue
            if count < len(reported.reports):
                raise TakeBackRefused(
                    f"providers contradict each other about {_describe(movement)}, which is real "
                    f"by the report of {movement.block.provider}"
                )
            found.append(_to_tracked(movement, policy, known, unverified))
    return found


def _is_hidden(stored: StoredClaim | None, gone: Collection[Key]) -> bool:
    """Whether a movement was not published because of a log that is taken back."""
    return stored is None or (not stored.is_published and stored.claimed_by in gone)


def _published_reports(reported: ReportedBlock, policy: Policy) -> Mapping[Movement, int]:
    """Return what counts of a block, each with how many providers report it like this."""
    counts: Counter[Movement] = Counter()
    for report in sorted(reported.reports, key=lambda one: one.provider):
        block = replace(reported.block, provider=report.provider)
        for fact in report.movements or ():
            movement = to_movement(block, fact, policy, reported.targets)
            if movement is not None and movement.is_published:
                counts[movement] += 1  # a block is the same from any provider
    return counts


def _to_tracked(
    movement: Movement,
    policy: Policy,
    known: Mapping[Subject, PublishedVersion],
    unverified: dict[str, int],
) -> TrackedMovement:
    # The token's sum that is not final is unknown here: it is at most the unverified sum.
    token = movement.token.lower()
    inflow = unverified.get(token, 0) + movement.base_units
    depth = policy.depth(movement, inflow, inflow)
    if policy.adds_to_inflow(movement):
        unverified[token] = inflow
    before = known.get(movement.subject)
    if before is not None:
        depth = depth.strictest(before.depth)
    return TrackedMovement(movement, depth, before.version if before else 0).with_state(State.SEEN)


def _require_all_answered(movement: Movement, reports: Sequence[BlockReport]) -> None:
    if len(reports) < PROVIDERS_MIN:
        names = ", ".join(report.provider for report in reports)
        raise TakeBackRefused(
            f"only {names or 'no provider'} is configured: {_describe(movement)} is taken back "
            "when two independent providers deny it"
        )
    for report in reports:
        if report.movements is None:
            raise TakeBackRefused(
                f"{report.provider} neither reports nor denies {_describe(movement)}: "
                f"{report.failure}"
            )


def _reports(
    report: BlockReport, tracked: TrackedMovement, policy: Policy, *, targets: Collection[str]
) -> bool:
    """Whether a provider reports the movement, by the rules of the second look."""
    movement = tracked.movement
    for fact in report.movements or ():
        if movement_id(movement.network, fact.id) == movement.id:
            theirs = to_movement(movement.block, fact, policy, targets)
            # What was stored before reports were compared may have been read by other rules.
            is_compared = tracked.depth is not None and tracked.depth.providers > 0
            return theirs is None or not is_compared or has_same_origin(theirs, movement)
    return False


def _describe(movement: Movement) -> str:
    return (
        f"the {movement.kind} of transaction {movement.transaction_hash} in block "
        f"{movement.block.number}"
    )
