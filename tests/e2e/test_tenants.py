"""The resources of one partner do not exist for another."""

from __future__ import annotations

import pytest

from swap_contracts.public.errors import ErrorCode
from tests.e2e.journey import run_journey
from tests.e2e.outside import FinishedSwap, Outside, Route
from tests.e2e.test_refusals import UNKNOWN_SWAP, refusal
from tests.plugins.stack import Stack


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, Route("POLYGON_DEVNET", "USDC", "BASE_DEVNET", "USDC", "25"))


class TestAnotherPartner:
    async def test_gets_the_answer_of_a_missing_swap(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        for path in ("", "/deposit_actions", "/events", "/ledger"):
            theirs = await outside.partner("other").ask("GET", f"/swaps/{done.id}{path}")
            unknown = await outside.partner("other").ask("GET", f"/swaps/{UNKNOWN_SWAP}{path}")

            refused = refusal(theirs, ErrorCode.NOT_FOUND)
            assert refused.message == refusal(unknown, ErrorCode.NOT_FOUND).message

    async def test_does_not_find_it_by_its_transactions(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        for transaction in done.last["swap"]["transactions"]:
            path = f"/swaps/by_transaction_hash/{transaction['transaction_hash']}"
            refusal(await outside.partner("other").ask("GET", path), ErrorCode.NOT_FOUND)

    async def test_does_not_see_it_in_lists(self, done: FinishedSwap, outside: Outside) -> None:
        partner = outside.partner("other")
        assert await partner.get("/swaps", address=done.recipient) == []
        listed = await partner.get("/swaps", page_size=100)
        assert done.id not in [one["swap"]["id"] for one in listed]

    async def test_gets_no_webhooks_of_it(self, done: FinishedSwap, stack: Stack) -> None:
        endpoints = (await stack.admin("notifier", "/endpoints"))["endpoints"]
        apps = {partner["name"]: partner["app_id"] for partner in stack.description["partners"]}
        reached = {endpoint["app_id"] for endpoint in endpoints}
        assert apps["demo"] in reached
        assert apps["other"] not in reached
