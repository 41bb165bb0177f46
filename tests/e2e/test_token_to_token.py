"""A token with six decimals for the same token, from the second network to the first."""

from __future__ import annotations

import pytest

from tests.e2e.journey import CompletedJourney, run_journey
from tests.e2e.outside import FinishedSwap, Route
from tests.plugins.stack import Stack

ROUTE = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "250.5")


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, ROUTE)


class TestTokenToToken(CompletedJourney):
    route = ROUTE
