"""The benchmark's statements match the real tables. It reads them only after minutes of work."""

from __future__ import annotations

import pytest

from tests.bench.facts import Facts
from tests.bench.receiver import ReceivedWebhooks
from tests.plugins.postgres import Database

ONE_SWAP = ["00000000-0000-4000-8000-000000000001"]


@pytest.fixture(scope="module")
def facts(database: Database) -> Facts:
    return Facts(database.url("auditor").replace("+psycopg", ""))


@pytest.fixture
def nothing() -> ReceivedWebhooks:
    return ReceivedWebhooks()


@pytest.mark.connected
class TestFactsOfASwapThatDoesNotExist:
    def test_have_no_steps(self, facts: Facts) -> None:
        assert facts.steps(ONE_SWAP).whole == []

    def test_have_no_webhooks(self, facts: Facts, nothing: ReceivedWebhooks) -> None:
        assert facts.webhook_seconds(ONE_SWAP, nothing) == []

    def test_name_the_swap_as_lost(self, facts: Facts, nothing: ReceivedWebhooks) -> None:
        assert facts.faults(ONE_SWAP, nothing) == [
            "settler has {} of 1 swaps",
            "api has {} of 1 swaps",
            "1 swaps have not exactly three webhooks",
        ]

    async def test_name_the_missing_payout(self, facts: Facts, nothing: ReceivedWebhooks) -> None:
        found = await facts.payment_faults(ONE_SWAP, {}, [])
        assert found == ["0 payouts were ordered for 1 swaps"]
