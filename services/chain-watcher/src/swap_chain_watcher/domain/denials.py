"""Published movements that providers deny at a block that is final. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from swap_chain_watcher.domain.movements import Movement, PublishedVersion, Subject, TrackedMovement
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.second_look import LogReport

PROVIDERS_MIN: Final = 2  # that decide against one


@dataclass(frozen=True, slots=True)
class Denial:
    """A published movement, the providers that deny it, and those that report it."""

    movement: Movement
    denied_by: tuple[str, ...]
    reported_by: tuple[str, ...]

    @property
    def is_disproved(self) -> bool:
        is_reported = len(self.reported_by) >= PROVIDERS_MIN
        return len(self.denied_by) >= PROVIDERS_MIN and not is_reported

    @property
    def positions(self) -> str:
        """Return which providers still report it, and which deny it."""
        still = f"still reported by {_names(self.reported_by)}, " if self.reported_by else ""
        return f"{still}denied by {_names(self.denied_by)}"


class RisesDenied(Exception):
    """Providers report less coins at deposit addresses, at a final block, than was published."""

    def __init__(self, network: str, denials: Sequence[Denial]) -> None:
        first = denials[0]
        rise, block = first.movement, first.movement.block
        super().__init__(
            f"{network}: at a final block {len(denials)} of the published rises of coins are "
            f"denied, first {rise.base_units} base units at {rise.to_address} in block "
            f"{block.number}: first reported by {block.provider}, {first.positions}"
        )
        self.network = network
        self.denials = tuple(denials)


def find_denials(
    rises: Iterable[Movement], totals: Mapping[str, Mapping[str, int]]
) -> Sequence[Denial]:
    """Return the rises that a provider denies and that fewer than two report.

    Coins leave a deposit address by sweeps only. So the total that ever came to it never shrinks,
    and at any later block it includes the rise.

    :param totals: by provider and address, what has come there in all.
    """
    found: list[Denial] = []
    for rise in rises:
        upto = rise.total_after
        denied_by = tuple(p for p, total in totals.items() if total[rise.to_address] < upto)
        reported_by = tuple(p for p in totals if p not in denied_by)
        if denied_by and len(reported_by) < PROVIDERS_MIN:
            found.append(Denial(rise, denied_by, reported_by))
    return found


def find_disproved(
    published: Iterable[TrackedMovement], denials: Iterable[Denial]
) -> Sequence[TrackedMovement]:
    """Return the disproved rises, and those of their addresses that were counted on top of them."""
    lowest: dict[str, int] = {}
    for rise in (one.movement for one in denials if one.is_disproved):
        before = lowest.get(rise.to_address, rise.total_after)
        lowest[rise.to_address] = min(before, rise.total_after)
    return [
        tracked
        for tracked in published
        if tracked.movement.to_address in lowest
        and tracked.movement.total_after >= lowest[tracked.movement.to_address]
    ]


def find_denied_logs(
    published: Iterable[TrackedMovement],
    reports: Mapping[str, LogReport],
    *,
    policy: Policy,
    watched: Collection[str],
) -> Sequence[Denial]:
    """Return the movements of logs that a provider denies.

    :param reports: by provider, what it reports of the blocks of the movements.
    :param watched: the deposit addresses that the providers were asked about, in lower case.
    """
    found: list[Denial] = []
    for tracked in published:
        movement, depth = tracked.movement, tracked.depth
        compares_origin = depth is not None and depth.providers > 0
        denied_by = tuple(
            provider
            for provider, report in reports.items()
            if report.denies(movement, compares_origin=compares_origin)
        )
        if denied_by and policy.is_in_log_scope(movement, watched):
            reported_by = tuple(provider for provider in reports if provider not in denied_by)
            found.append(Denial(movement, denied_by, reported_by))
    return found


def find_disproved_logs(
    published: Iterable[TrackedMovement], denials: Iterable[Denial]
) -> Sequence[TrackedMovement]:
    """Return the disproved movements. What two providers have reported before is none."""
    keys = {one.movement.key for one in denials if one.is_disproved}
    return [one for one in published if one.key in keys and not one.is_verified]


def without_superseded(
    reverted: Iterable[TrackedMovement], known: Mapping[Subject, PublishedVersion]
) -> Sequence[TrackedMovement]:
    """Return those to publish: not where a later version is about the log in another block.

    :param known: the last version published about each subject.
    """
    return [one for one in reverted if known[one.movement.subject].version < one.version]


def _names(providers: Iterable[str]) -> str:
    return ", ".join(sorted(providers))
