"""Rises of coins that providers deny at a block that is final. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from swap_chain_watcher.domain.movements import Movement, TrackedMovement

PROVIDERS_MIN: Final = 2  # that decide against one


@dataclass(frozen=True, slots=True)
class Denial:
    """A published movement, the providers that deny it, and those that report it."""

    movement: Movement
    denied_by: tuple[str, ...]
    reported_by: tuple[str, ...]

    @property
    def is_disproved(self) -> bool:
        return len(self.denied_by) >= PROVIDERS_MIN

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


def _names(providers: Iterable[str]) -> str:
    return ", ".join(sorted(providers))
