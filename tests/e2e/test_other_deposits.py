"""Deposits that differ from the quote: they are refunded, or the swap shows where they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.chains import Chain
from tests.e2e.claims import claim_of, claims_of
from tests.e2e.outside import Outside, Route, new_address
from tests.plugins.stack import OLD_AT_ONCE, Stack
from tests.support.waiting import until

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.25")
REQUESTED_UNITS = 25 * 10**16
BELOW_MINIMUM = 25 * 10**13  # and worth its refund
TOO_OLD = Route(*OLD_AT_ONCE, "40")


async def shown_with(outside: Outside, swap_id: str, *, transactions: int) -> Mapping[str, Any]:
    """Wait until the swap shows this many transactions, all final, and return it."""

    async def shown() -> Mapping[str, Any] | None:
        swap = (await outside.partner().read(swap_id))["swap"]
        done = [t for t in swap["transactions"] if t["status"] == "completed"]
        return swap if len(done) == transactions else None

    return await until(shown, what=f"{transactions} transactions of {swap_id}")


async def partly_funded(stack: Stack, outside: Outside, **more: object) -> str:
    """Return a partly funded swap that expires in seconds."""
    await stack.restart("api", SWAP_CATALOGUE=str(short_lived(stack, seconds=10)))
    prepared = await outside.partner().create(ROUTE, new_address(), **more)
    await outside.fund(prepared, ROUTE, value=BELOW_MINIMUM)
    await stack.restart("api")
    return str(prepared["swap"]["id"])


async def sent_back(outside: Outside, swap_id: str, address: str, *, transactions: int) -> int:
    """Wait for the refund of a swap; return the amount that its owner received."""
    swap = await shown_with(outside, swap_id, transactions=transactions)
    [refund] = [t for t in swap["transactions"] if t["type"] == "refund"]
    assert refund["to"] == address
    assert refund["transaction_hash"] is not None
    return await outside.balance(ROUTE.source_network, ROUTE.source_token, address)


class TestAmounts:
    @pytest.mark.slow
    async def test_too_little_goes_back_at_the_deadline(
        self, stack: Stack, outside: Outside
    ) -> None:
        owner = new_address()
        swap_id = await partly_funded(stack, outside, refund_address=owner)

        seen = await outside.follow(swap_id, to=["refunded"])

        swap = seen[-1]["swap"]
        assert swap["fail_reason"] == "received_less_than_valid_range"
        assert swap["close_date"] is not None
        got = await sent_back(outside, swap["id"], owner, transactions=2)
        assert 0 < got < BELOW_MINIMUM

    @pytest.mark.fault("M6")
    @pytest.mark.slow
    async def test_too_little_fails_at_the_deadline_and_is_claimable_without_an_address(
        self, stack: Stack, outside: Outside
    ) -> None:
        seen = await outside.follow(await partly_funded(stack, outside), to=["failed"])

        swap = seen[-1]["swap"]
        assert swap["fail_reason"] == "received_less_than_valid_range"
        claim = await claim_of(stack, swap["id"])
        assert (claim["network"], claim["base_units"]) == ("ETHEREUM_DEVNET", str(BELOW_MINIMUM))

    async def test_a_part_is_swapped_for_what_it_is_worth(
        self, stack: Stack, outside: Outside
    ) -> None:
        swap = await swapped(outside, value=REQUESTED_UNITS - 1)

        shown = swap["swap"]
        assert shown["quote_revision"] == 1
        assert shown["quote_locked_at"] == shown["last_requoted_at"] is not None
        assert shown["requested_amount"] < 0.25
        assert swap["quote"]["min_receive_amount"] <= swap["quote"]["receive_amount"] < 0.25
        assert await claims_of(stack, shown["id"]) == []

    async def test_too_much_is_swapped_for_what_it_is_worth(
        self, stack: Stack, outside: Outside
    ) -> None:
        swap = await swapped(outside, value=2 * REQUESTED_UNITS)

        shown = swap["swap"]
        assert (shown["quote_revision"], shown["requested_amount"]) == (1, 0.5)
        assert [t["type"] for t in shown["transactions"]] == ["input", "output"]
        assert await claims_of(stack, shown["id"]) == []


@pytest.mark.slow
class TestLateDeposits:
    async def test_after_the_quote_has_expired_is_swapped_at_another(
        self, stack: Stack, outside: Outside
    ) -> None:
        prepared = await outside.partner().create(TOO_OLD, new_address())

        swap = await paid_late(stack, outside, prepared)

        assert (swap["status"], swap["fail_reason"], swap["quote_revision"]) == (
            "completed",
            None,
            1,
        )
        assert swap["quote_locked_at"] == swap["last_requoted_at"] is not None

    async def test_after_the_quote_has_expired_is_refunded_without_a_price(
        self, stack: Stack, outside: Outside
    ) -> None:
        owner = new_address()
        prepared = await outside.partner().create(TOO_OLD, new_address(), refund_address=owner)
        async with stack.hold("quoter"):
            swap = await paid_late(stack, outside, prepared)

        assert (swap["status"], swap["fail_reason"]) == ("refunded", "swap_route_unavailable")
        assert (swap["quote_locked_at"], swap["quote_revision"]) == (None, 0)
        got = await outside.balance(TOO_OLD.source_network, TOO_OLD.source_token, owner)
        assert 0 < got < 40 * 10**18

    async def test_after_the_swap_has_expired_is_claimable_until_there_is_an_address(
        self, stack: Stack, outside: Outside
    ) -> None:
        await stack.restart("api", SWAP_CATALOGUE=str(short_lived(stack, seconds=2)))
        prepared = await outside.partner().create(ROUTE, new_address())
        await stack.restart("api")
        swap_id = prepared["swap"]["id"]
        await outside.follow(swap_id, to=["expired"])

        [sent] = await outside.fund(prepared, ROUTE)
        claim = await claim_of(stack, swap_id)

        swap = await shown_with(outside, swap_id, transactions=1)
        assert swap["status"] == "expired"
        assert [t["transaction_hash"] for t in swap["transactions"]] == [sent]
        assert claim["base_units"] == str(REQUESTED_UNITS)
        assert claim["deposit_id"] is not None

        owner = new_address()
        body = {"refund_address": owner}
        answer = await outside.partner().ask("POST", f"/swaps/{swap_id}/refund_address", json=body)

        assert answer.status_code == HTTPStatus.OK, answer.text
        assert 0 < await sent_back(outside, swap_id, owner, transactions=2) < REQUESTED_UNITS
        assert (await outside.partner().read(swap_id))["swap"]["status"] == "expired"
        assert await claims_of(stack, swap_id) == []

    async def test_of_a_completed_swap_goes_back_on_its_own(
        self, stack: Stack, outside: Outside
    ) -> None:
        owner = new_address()
        prepared = await outside.partner().create(ROUTE, new_address(), refund_address=owner)
        swap_id = prepared["swap"]["id"]
        await outside.fund(prepared, ROUTE)
        await outside.follow(swap_id, to=["completed"])
        assert await claims_of(stack, swap_id) == []

        await outside.fund(prepared, ROUTE, value=REQUESTED_UNITS // 2)

        got = await sent_back(outside, swap_id, owner, transactions=4)
        assert 0 < got < REQUESTED_UNITS // 2
        swap = await shown_with(outside, swap_id, transactions=4)
        assert swap["status"] == "completed"


class TestExpiredSwaps:
    async def test_are_listed_only_on_request(self, outside: Outside) -> None:
        shown = await outside.partner().get("/swaps", page_size=100)
        expired = await outside.partner().get("/swaps", page_size=100, statuses="expired")

        assert "expired" not in {one["swap"]["status"] for one in shown}
        assert {one["swap"]["status"] for one in expired} <= {"expired"}


async def swapped(outside: Outside, *, value: int) -> Mapping[str, Any]:
    """Return the end of a swap with a deposit of another amount."""
    prepared = await outside.partner().create(ROUTE, new_address(), refund_address=new_address())
    await outside.fund(prepared, ROUTE, user=1, value=value)
    return (await outside.follow(prepared["swap"]["id"], to=["completed"]))[-1]


async def paid_late(
    stack: Stack, outside: Outside, prepared: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the end of a swap that is funded after the expiry of its quote."""
    expires_at = datetime.fromisoformat(prepared["swap"]["quote_expires_at"])
    # Chain time decides what is on time, and a block's time differs from the wall clock.
    chain = Chain.of(stack.description, TOO_OLD.source_network)
    await until(lambda: is_past(chain, expires_at), what="the quote is too old")
    await outside.fund(prepared, TOO_OLD)
    swap: Mapping[str, Any] = (await outside.follow(prepared["swap"]["id"]))[-1]["swap"]
    return swap


async def is_past(chain: Chain, moment: datetime) -> bool:
    return await chain.now() > moment


def short_lived(stack: Stack, *, seconds: int) -> Path:
    """Write a catalogue with swaps that live for seconds."""
    catalogue = yaml.safe_load(stack.places.catalogue_file.read_text())
    path = stack.places.var / "short_lived.yaml"
    path.write_text(yaml.safe_dump({**catalogue, "swap_lifetime_seconds": seconds}))
    return path
