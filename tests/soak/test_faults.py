"""A seed decides everything: the faults, their places, and the swaps."""

from __future__ import annotations

from itertools import islice

from tests.soak.faults import DEPTHS, NETWORKS, REORGS, Fault, Kind, list_links, tracks
from tests.soak.traffic import Behaviour, Method, plans

MANY = 400


def first_faults(seed: int) -> list[list[Fault]]:
    return [list(islice(track, MANY)) for track in tracks(seed)]


class TestASeed:
    def test_decides_the_faults_and_the_swaps(self) -> None:
        assert first_faults(1) == first_faults(1)
        assert first_faults(1) != first_faults(2)
        assert list(islice(plans(1), MANY)) == list(islice(plans(1), MANY))

    def test_has_every_kind_of_fault_and_every_link(self) -> None:
        faults = [fault for track in first_faults(1) for fault in track]

        assert {fault.kind for fault in faults} == set(Kind)
        assert {fault.target for fault in faults} >= {*list_links(), *NETWORKS}

    def test_has_every_method_and_every_ending(self) -> None:
        made = list(islice(plans(1), MANY))

        assert {plan.method for plan in made} == set(Method)
        assert {plan.wanted for plan in made} == set(Behaviour)

    def test_never_reorgs_what_is_final(self) -> None:
        faults = [fault for track in first_faults(3) for fault in track]

        assert {fault.depth for fault in faults if fault.kind in REORGS} == set(DEPTHS)
        assert max(DEPTHS) <= 2
