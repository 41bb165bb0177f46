"""The floors of `make bench`: two measurements are merged, and samples cover all block offsets."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.bench.floors import Broker, Database, FloorPair, Floors, NodeFloor, mean_of, part_pause
from tests.bench.load import QUICK_BLOCK_SECONDS

BEFORE = Floors(
    Broker(10_000.0, 50_000.0, 0.002),
    Database(2_000.0, 0.0004),
    NodeFloor(6_000.0, 2_000.0, 0.0001, 0.0010),
)
AFTER = Floors(
    Broker(15_000.0, 50_000.0, 0.004),
    Database(1_000.0, 0.0006),
    NodeFloor(3_000.0, 6_000.0, 0.0003, 0.0020),
)


class TestMeanOf:
    def test_is_the_mean_of_each_field(self) -> None:
        mean = mean_of(BEFORE, AFTER)

        assert mean.node.pipelined_per_second == pytest.approx(4_000)
        assert mean.node.accepted_per_second == pytest.approx(4_500)
        assert mean.database.commits_per_second == pytest.approx(1_500)
        assert mean.broker.produced_per_second == pytest.approx(12_500)
        assert mean.broker.consumed_per_second == pytest.approx(50_000)
        assert mean.broker.hop_seconds == pytest.approx(0.003)
        assert mean.database.commit_seconds == pytest.approx(0.0005)
        assert mean.node.sign_seconds == pytest.approx(0.0002)
        assert mean.node.send_seconds == pytest.approx(0.0015)

    def test_payout_floor_is_the_mean_of_both(self) -> None:
        twice = FloorPair(BEFORE, AFTER)

        halfway = (BEFORE.payout_seconds + AFTER.payout_seconds) / 2
        assert twice.between.payout_seconds == pytest.approx(halfway)

    def test_is_independent_of_the_order(self) -> None:
        assert mean_of(BEFORE, AFTER) == mean_of(AFTER, BEFORE)

    def test_of_equal_measurements_is_unchanged(self) -> None:
        assert mean_of(BEFORE, BEFORE).payout_seconds == pytest.approx(BEFORE.payout_seconds)


class TestPartPause:
    # With the last one, a fixed pause of 0.23 s would stay in phase with the blocks.
    @pytest.mark.parametrize("took", [0.0, 0.008, 0.02])
    def test_spreads_measurements_evenly_between_two_blocks(self, took: float) -> None:
        random, samples, parts = Random(1), 2_000, 10
        at, found = 0.0, Counter[int]()
        for _ in range(samples):
            at += took + part_pause(random)
            found[int(at % QUICK_BLOCK_SECONDS / QUICK_BLOCK_SECONDS * parts)] += 1

        assert len(found) == parts
        assert all(0.7 < found[n] * parts / samples < 1.3 for n in found)

    def test_gives_four_measurements_per_second(self) -> None:
        random, samples = Random(1), 2_000

        assert sum(part_pause(random) for _ in range(samples)) / samples == pytest.approx(
            0.25, rel=0.02
        )
