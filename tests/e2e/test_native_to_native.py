"""A coin of one network for the same coin on another."""

from __future__ import annotations

import pytest

from tests.e2e.journey import CompletedJourney, run_journey
from tests.e2e.outside import FinishedSwap, Route
from tests.plugins.stack import Stack

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.5")


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, ROUTE)


@pytest.mark.each_broker
class TestNativeToNative(CompletedJourney):
    route = ROUTE
