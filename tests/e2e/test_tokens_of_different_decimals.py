"""A token with six decimals for one with eighteen."""

from __future__ import annotations

import pytest

from tests.e2e.journey import CompletedJourney, run_journey
from tests.e2e.outside import FinishedSwap, Route
from tests.plugins.stack import Stack

ROUTE = Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "DAI", "99.99")


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, ROUTE)


class TestTokensOfDifferentDecimals(CompletedJourney):
    route = ROUTE
