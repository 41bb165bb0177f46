"""A coin for a different coin, on a network with late finality of payouts."""

from __future__ import annotations

import pytest

from tests.e2e.journey import CompletedJourney, run_journey
from tests.e2e.outside import FinishedSwap, Route
from tests.plugins.stack import Stack

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.1")


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, ROUTE)


class TestCoinToOtherCoin(CompletedJourney):
    route = ROUTE

    def test_shows_the_payout_with_its_hash_before_it_is_completed(
        self, done: FinishedSwap
    ) -> None:
        shown = [
            output
            for answer in done.seen
            if answer["swap"]["status"] == "ls_transfer_pending"
            for output in answer["swap"]["transactions"]
            if output["type"] == "output" and output["transaction_hash"] is not None
        ]

        assert shown
        for output in shown:
            assert output["transaction_hash"] == done.transaction("output")["transaction_hash"]
            assert output["status"] == "initiated"
            assert 1 <= output["confirmations"] <= output["max_confirmations"] == 3
