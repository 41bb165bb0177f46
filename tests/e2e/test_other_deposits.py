"""Deposits that are not what the quote said: the swap says so, and the money is claimable."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.chains import Chain
from tests.e2e.claims import claim_of, claims_of
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.waiting import until
from tests.plugins.stack import OLD_AT_ONCE, Stack

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.25")
ASKED = 25 * 10**16
TOO_OLD = Route(*OLD_AT_ONCE, "40")


async def shown_with(outside: Outside, swap_id: str, *, transactions: int) -> Mapping[str, Any]:
    """Wait until the swap shows so many transactions, all of them final, and return it."""

    async def shown() -> Mapping[str, Any] | None:
        swap = (await outside.partner().read(swap_id))["swap"]
        done = [t for t in swap["transactions"] if t["status"] == "completed"]
        return swap if len(done) == transactions else None

    return await until(shown, what=f"{transactions} transactions of {swap_id}")


async def fail_with(
    outside: Outside, stack: Stack, value: int, user: int
) -> tuple[str, dict[str, object]]:
    """Fund a swap with another amount; return its reason and its claim."""
    prepared = await outside.partner().create(ROUTE, new_address())
    await outside.fund(prepared, ROUTE, user=user, value=value)
    seen = await outside.follow(prepared["swap"]["id"], to=["failed"])
    claim = await claim_of(stack, prepared["swap"]["id"])
    swap = seen[-1]["swap"]
    assert swap["close_date"] is not None
    assert [t["type"] for t in swap["transactions"]] == ["input"]
    return swap["fail_reason"], dict(claim)


class TestAmounts:
    async def test_too_little_fails_and_is_claimable(self, stack: Stack, outside: Outside) -> None:
        reason, claim = await fail_with(outside, stack, ASKED - 1, user=0)

        assert reason == "received_less_than_valid_range"
        assert (claim["network"], claim["base_units"]) == ("ETHEREUM_DEVNET", str(ASKED - 1))

    async def test_too_much_fails_and_is_claimable(self, stack: Stack, outside: Outside) -> None:
        reason, claim = await fail_with(outside, stack, 2 * ASKED, user=1)

        assert reason == "received_more_than_valid_range"
        assert claim["base_units"] == str(2 * ASKED)


class TestLateDeposits:
    async def test_after_the_quote_has_expired_fails_as_degraded(
        self, stack: Stack, outside: Outside
    ) -> None:
        prepared = await outside.partner().create(TOO_OLD, new_address())
        expires_at = datetime.fromisoformat(prepared["swap"]["quote_expires_at"])
        # What is on time is for the chain to say, and a block's time is not the wall's.
        chain = Chain.of(stack.description, TOO_OLD.source_network)
        await until(lambda: is_past(chain, expires_at), what="the quote is too old")

        await outside.fund(prepared, TOO_OLD)
        seen = await outside.follow(prepared["swap"]["id"])

        swap = seen[-1]["swap"]
        assert (swap["status"], swap["fail_reason"]) == ("failed", "degraded_quote")
        assert swap["quote_locked_at"] is None
        claim = await claim_of(stack, swap["id"])
        assert claim["base_units"] == str(40 * 10**18)

    async def test_after_the_swap_has_expired_is_claimable_and_the_status_stays(
        self, stack: Stack, outside: Outside
    ) -> None:
        await stack.restart("api", SWAP_CATALOGUE=str(short_lived(stack)))
        prepared = await outside.partner().create(ROUTE, new_address())
        await stack.restart("api")
        swap_id = prepared["swap"]["id"]
        await outside.follow(swap_id, to=["expired"])

        [sent] = await outside.fund(prepared, ROUTE)
        claim = await claim_of(stack, swap_id)

        swap = await shown_with(outside, swap_id, transactions=1)
        assert swap["status"] == "expired"
        assert [t["transaction_hash"] for t in swap["transactions"]] == [sent]
        assert claim["base_units"] == str(ASKED)
        assert claim["deposit_id"] is not None

    async def test_of_a_completed_swap_is_claimable_on_its_own(
        self, stack: Stack, outside: Outside
    ) -> None:
        prepared = await outside.partner().create(ROUTE, new_address())
        swap_id = prepared["swap"]["id"]
        await outside.fund(prepared, ROUTE)
        await outside.follow(swap_id, to=["completed"])
        assert await claims_of(stack, swap_id) == []

        await outside.fund(prepared, ROUTE, value=ASKED // 2)
        claim = await claim_of(stack, swap_id)

        assert claim["base_units"] == str(ASKED // 2)
        swap = await shown_with(outside, swap_id, transactions=3)
        assert swap["status"] == "completed"
        assert sorted(t["type"] for t in swap["transactions"]) == ["input", "input", "output"]


class TestExpiredSwaps:
    async def test_are_listed_only_when_asked_for(self, outside: Outside) -> None:
        shown = await outside.partner().get("/swaps", page_size=100)
        expired = await outside.partner().get("/swaps", page_size=100, statuses="expired")

        assert "expired" not in {one["swap"]["status"] for one in shown}
        assert {one["swap"]["status"] for one in expired} <= {"expired"}


async def is_past(chain: Chain, moment: datetime) -> bool:
    return await chain.now() > moment


def short_lived(stack: Stack) -> Path:
    """Write a catalogue in which a swap lives for two seconds."""
    catalogue = yaml.safe_load(stack.places.catalogue_file.read_text())
    path = stack.places.var / "short_lived.yaml"
    path.write_text(yaml.safe_dump({**catalogue, "swap_lifetime_seconds": 2}))
    return path
