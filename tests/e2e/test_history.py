"""A partner's data about an ended swap: its events, its ledger entries, its transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator

import pytest

from swap_contracts.public.lookups import (
    LedgerTransactionModel,
    StatusModel,
    SwapEventModel,
    TransactionStatusModel,
)
from swap_contracts.public.models import (
    DetailedQuoteModel,
    ReachableNetworkModel,
)
from swap_sdk import AsyncClient
from tests.e2e.journey import run_journey
from tests.e2e.outside import FinishedSwap, Outside, Route
from tests.e2e.test_public_models import checked_answer
from tests.plugins.stack import Stack
from tests.support.waiting import until

ROUTE = Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "ETH", "30")
PARAMETERS = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "USDC",
    "destination_network": "BASE_DEVNET",
    "destination_token": "ETH",
}


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, ROUTE)


class TestEvents:
    async def test_are_listed_in_order(self, done: FinishedSwap, outside: Outside) -> None:
        path = f"/swaps/{done.id}/events"
        events = await checked_answer(outside.partner(), list[SwapEventModel], "GET", path)

        numbers = [event["sequence"] for event in events]
        assert numbers == sorted(set(numbers))
        moves = [event["type"] for event in events if event["type"] != "swap.updated"]
        assert moves == ["swap.user_transfer_pending", "swap.ls_transfer_pending", "swap.completed"]

    async def test_are_streamed_from_where_the_client_stopped(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        path = f"/swaps/{done.id}/events"
        events = await outside.partner().get(path)
        headers = {"accept": "text/event-stream", "last-event-id": str(events[-2]["sequence"])}

        async with outside.partner().stream("GET", path, headers=headers) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            lines = [line async for line in _until_data(answer.aiter_lines())]

        assert f"id: {events[-1]['sequence']}" in lines
        assert '"swap.completed"' in lines[-1]

    async def test_are_followed_by_the_python_client_until_the_swap_is_closed(
        self, done: FinishedSwap, outside: Outside, stack: Stack
    ) -> None:
        events = await outside.partner().get(f"/swaps/{done.id}/events")
        url, key = stack.description["gateway"]["url"], stack.description["partners"][0]["api_key"]

        async with AsyncClient(url, key) as swaps:
            followed = [event async for event in swaps.follow(done.id, after=events[0]["sequence"])]

        assert followed == events[1 : len(followed) + 1]
        assert followed[-1]["type"] == "swap.completed"


async def _until_data(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line.startswith("data:"):
            return


class TestLedger:
    async def test_sums_to_zero_in_every_asset(self, done: FinishedSwap, outside: Outside) -> None:
        path = f"/swaps/{done.id}/ledger"
        booked = await checked_answer(outside.partner(), list[LedgerTransactionModel], "GET", path)

        assert len(booked) >= 3  # the deposit, the payout, and the executed quote
        for entry in booked:
            sums: dict[tuple[str, str], int] = defaultdict(int)
            for line in entry["postings"]:
                sums[line["network"], line["token"]] += int(line["amount_in_base_units"])
            assert set(sums.values()) == {0}


class TestTransactionStatus:
    @pytest.mark.parametrize("kind", ["input", "output"])
    async def test_of_each_transaction(
        self, done: FinishedSwap, outside: Outside, kind: str
    ) -> None:
        shown = done.transaction(kind)
        requests = {
            "network": shown["network"]["chain_id"],
            "transaction_id": shown["transaction_hash"].upper().replace("0X", "0x"),
        }

        answer = await checked_answer(
            *(outside.partner(), TransactionStatusModel, "GET", "/transaction_status"),
            params=requests,
        )

        assert (answer["status"], answer["is_found"], answer["is_completed"]) == (
            "completed",
            True,
            True,
        )
        assert answer["transaction_id"] == shown["transaction_hash"]


class TestCatalogue:
    @pytest.mark.parametrize("path", ["/sources", "/destinations"])
    async def test_shows_what_can_be_reached(self, outside: Outside, path: str) -> None:
        networks = await checked_answer(outside.partner(), list[ReachableNetworkModel], "GET", path)

        assert {network["name"] for network in networks} == set(outside.networks)

    async def test_shows_how_every_network_is(self, outside: Outside) -> None:
        answer = await checked_answer(outside.partner(), StatusModel, "GET", "/status")
        assert {network["name"] for network in answer["networks"]} == set(outside.networks)

        async def are_well() -> bool:
            networks = (await outside.partner().get("/status"))["networks"]
            return all(
                network["lag_seconds"] < 30
                and network["liquidity"] == "available"
                and network["payouts"] == "running"
                and network["stuck_swaps"] in (None, 0)
                for network in networks
            )

        # The effects of earlier tests on this stack may last for a while.
        await until(are_well, what="every network is well", within=60)

    async def test_shows_what_amounts_cost(self, outside: Outside) -> None:
        async def is_the_same() -> bool:
            [one] = await checked_answer(
                *(outside.partner(), list[DetailedQuoteModel], "GET", "/detailed_quote"),
                params=PARAMETERS,
            )
            limits = await outside.partner().get("/limits", **PARAMETERS)
            return all(one[bound] == limits[bound] for bound in ("min_amount", "max_amount"))

        # Between two requests the price of gas or the inventory may change.
        await until(is_the_same, what="the same limits in both answers", every=0.3)
