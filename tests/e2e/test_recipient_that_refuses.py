"""A recipient that refuses money: its swap is refunded, and no other swap is delayed."""

from __future__ import annotations

import asyncio

import pytest
from eth_typing import HexStr
from eth_utils.address import to_checksum_address

from tests.e2e.claims import claims_of
from tests.e2e.outside import Outside, Route, new_address
from tests.plugins.stack import Stack

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.2")
# Reverts every call: PUSH1 0, PUSH1 0, REVERT.
REFUSES = HexStr("0x6005600c60003960056000f360006000fd")


async def contract_that_refuses(outside: Outside, network: str) -> str:
    receipt = await outside.user(network, 4).create(REFUSES)
    return to_checksum_address(str(receipt["contractAddress"]))


class TestRecipientThatRefuses:
    @pytest.mark.fault("A9")
    async def test_a9_is_refunded_while_other_swaps_complete(
        self, stack: Stack, outside: Outside
    ) -> None:
        recipient = await contract_that_refuses(outside, "BASE_DEVNET")
        owner = new_address()
        refused = await outside.partner().create(ROUTE, recipient, refund_address=owner)
        swap_id = refused["swap"]["id"]

        await outside.fund(refused, ROUTE, user=0)
        others = await asyncio.gather(*(outside.swap(ROUTE, user=n) for n in (1, 2, 3)))
        seen = await outside.follow(swap_id)

        assert [other.status for other in others] == ["completed"] * 3
        swap = seen[-1]["swap"]
        assert (swap["status"], swap["fail_reason"]) == ("refunded", "destination_unavailable")
        assert [t["type"] for t in swap["transactions"]] == ["input", "refund"]
        assert await claims_of(stack, swap_id) == []
        assert 0 < await outside.balance("ETHEREUM_DEVNET", "ETH", owner) < 2 * 10**17
        assert await outside.balance("BASE_DEVNET", "ETH", recipient) == 0
