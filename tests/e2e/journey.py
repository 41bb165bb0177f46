"""A successful swap, run once and checked in every service.

The file of a journey names its route and inherits the checks that apply to all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.e2e.outside import FinishedSwap, Outside, Route
from tests.e2e.webhooks import Delivery, deliveries_upto
from tests.plugins.stack import Stack

STATUSES = ["user_transfer_pending", "ls_transfer_pending", "completed"]


def run_journey(stack: Stack, route: Route, **more: Any) -> FinishedSwap:
    """Run one swap and return when all of its effects are complete."""

    async def there() -> FinishedSwap:
        async with Outside(stack.description) as outside:
            done = await outside.swap(route, **more)
            await deliveries_upto(stack.received_file(), done.id, STATUSES)
            return replace(done, seen=[*done.seen[:-1], await outside.with_hashes(done.id)])

    return asyncio.run(there())


class CompletedJourney:
    """The checks of every completed swap."""

    route: Route

    def test_shows_its_statuses_in_order(self, done: FinishedSwap) -> None:
        # Polling may miss a short status; the webhooks include every status.
        assert done.statuses == [status for status in STATUSES if status in done.statuses]
        assert {STATUSES[0], STATUSES[-1]} <= set(done.statuses)

    def test_is_never_completed_without_its_payout(self, done: FinishedSwap) -> None:
        for answer in done.seen:
            if answer["swap"]["status"] == "completed":
                [output] = [t for t in answer["swap"]["transactions"] if t["type"] == "output"]
                assert output["transaction_hash"] is not None
                assert output["status"] == "completed"

    def test_shows_the_deposit_that_the_user_sent(self, done: FinishedSwap) -> None:
        deposit = done.transaction("input")

        assert deposit["transaction_hash"] == done.sent[-1]
        assert deposit["amount"] == float(self.route.amount)
        assert deposit["confirmations"] == deposit["max_confirmations"] > 0

    async def test_pays_the_recipient_what_was_quoted(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        network, symbol = self.route.destination_network, self.route.destination_token
        token = done.last["swap"]["destination_token"]

        got = await outside.balance(network, symbol, done.recipient)

        # The shown amount is truncated to the token's precision; the paid amount is exact.
        unit = 10 ** (token["decimals"] - int(token["precision"]))
        shown = round(done.prepared["quote"]["receive_amount"] * 10 ** int(token["precision"]))
        assert shown * unit <= got < (shown + 1) * unit
        assert done.transaction("output")["amount"] == done.prepared["quote"]["receive_amount"]
        assert done.transaction("output")["to"] == done.recipient

    def test_sends_a_webhook_for_each_status_that_two_libraries_verify(
        self, done: FinishedSwap, stack: Stack
    ) -> None:
        deliveries = self._deliveries(stack, done)

        assert [one.event_type for one in deliveries] == [f"swap.{status}" for status in STATUSES]
        assert [one.payload["swap"]["status"] for one in deliveries] == STATUSES
        for one in deliveries:
            one.verify(_secret(stack))
            assert set(one.payload) == {"swap", "quote", "deposit_actions"}
            assert one.payload["deposit_actions"] == []
            assert one.payload["quote"]["receive_amount"] > 0

    async def test_is_found_by_the_hash_of_its_deposit_and_of_its_payout(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        for kind in ("input", "output"):
            transaction_hash = done.transaction(kind)["transaction_hash"]
            for spelling in (transaction_hash, transaction_hash.upper().replace("0X", "0x")):
                found = await outside.partner().get(f"/swaps/by_transaction_hash/{spelling}")
                assert found["swap"] == done.last["swap"]

    async def test_is_listed_under_its_recipient(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        for address in (done.recipient, done.recipient.lower()):
            [found] = await outside.partner().get("/swaps", address=address)
            assert found["swap"] == done.last["swap"]
            assert found["deposit_actions"] == []

    def _deliveries(self, stack: Stack, done: FinishedSwap) -> list[Delivery]:
        return asyncio.run(deliveries_upto(stack.received_file(), done.id, STATUSES))


def _secret(stack: Stack) -> str:
    webhook: Mapping[str, Any] = stack.description["partners"][0]["webhook"]
    return str(webhook["secret"])
