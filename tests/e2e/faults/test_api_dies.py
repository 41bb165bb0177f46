"""The api is killed while it stores a swap: a retry with the same key creates no second swap."""

from __future__ import annotations

from secrets import token_hex

import pytest

from tests.e2e.outside import Outside, Route
from tests.plugins.stack import Stack

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.05")
PATIENCE = 60.0  # a claim without an answer lasts fifteen seconds


class TestCrash:
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("before_create_commit", id="a5_before_the_commit"),
            pytest.param("after_create_commit", id="a5_after_the_commit"),
        ],
    )
    @pytest.mark.fault("A5")
    async def test_around_a_create_makes_one_swap_of_one_key(
        self, stack: Stack, point: str
    ) -> None:
        crash, reference = f"api.{point}:1", token_hex()
        await stack.restart_to_crash("api", crash)

        async with Outside(stack.description, patience=PATIENCE) as outside:
            done = await outside.swap(ROUTE, reference_id=reference)
            listed = await outside.partner().get("/swaps", reference_id=reference)

        assert stack.has_crashed("api", crash)
        assert done.status == "completed"
        assert [one["swap"]["id"] for one in listed] == [done.id]
