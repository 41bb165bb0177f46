"""Payments that a reorg removes before they are final are sent again, as the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.e2e.chains import Chain
from tests.e2e.outside import Outside, Partner, Route, new_address
from tests.e2e.short_lived_app import LIFETIME_SECONDS, create_short_lived_key
from tests.plugins.stack import LATE_PAYOUTS, Stack
from tests.support.waiting import until

NETWORK, CONFIRMATIONS = LATE_PAYOUTS
OUT = Route("ETHEREUM_DEVNET", "ETH", NETWORK, "POL", "0.01")
BACK = Route(NETWORK, "POL", "ETHEREUM_DEVNET", "ETH", "40")
BELOW_MINIMUM = 10**18


async def payment(partner: Partner, swap_id: str, kind: str, *, is_mined: bool) -> str | None:
    """Wait until a payment that is not final is in a block, or in none; return its hash."""

    async def shown() -> Mapping[str, Any] | None:
        found = [t for t in (await partner.read(swap_id))["swap"]["transactions"]
                 if t["type"] == kind and t["status"] == "initiated"]  # fmt: skip
        there = next(iter(found), None)
        is_it = there is not None and (there["transaction_hash"] is not None) == is_mined
        return there if is_it else None

    where = "in a block" if is_mined else "in no block"
    shown_intent = await until(shown, what=f"the {kind} of {swap_id} is {where}")
    sent: str | None = shown_intent["transaction_hash"]
    return sent


async def sent_again(chain: Chain, transaction_hash: str) -> None:
    async def is_there() -> bool:
        return await chain.call("eth_getTransactionByHash", transaction_hash) is not None

    await until(is_there, what=f"{transaction_hash} is sent again")


class TestAnOutput:
    @pytest.mark.fault("R1")
    async def test_r1_that_is_dropped_is_sent_again_as_the_same_bytes(
        self, stack: Stack, outside: Outside
    ) -> None:
        chain, partner = Chain.of(stack.description, NETWORK), outside.partner()
        async with chain.stop_mining():
            prepared = await partner.create(OUT, new_address())
            swap_id = prepared["swap"]["id"]
            await outside.fund(prepared, OUT)
            await payment(partner, swap_id, "output", is_mined=False)
            await until(chain.has_waiting, what="the output waits for a block")
            await chain.mine()
            sent = await payment(partner, swap_id, "output", is_mined=True)
            assert sent is not None

            await chain.reorg(1)
            await payment(partner, swap_id, "output", is_mined=False)
            assert (await partner.read(swap_id))["swap"]["status"] == "ls_transfer_pending"

            await sent_again(chain, sent)
            await chain.mine(CONFIRMATIONS)
            last = (await outside.follow(swap_id))[-1]["swap"]

        assert last["status"] == "completed"
        outputs = [t["transaction_hash"] for t in last["transactions"] if t["type"] == "output"]
        assert outputs == [sent]

    @pytest.mark.fault("R2")
    async def test_r2_that_is_mined_at_another_height_is_the_same_one(
        self, stack: Stack, outside: Outside
    ) -> None:
        chain, partner = Chain.of(stack.description, NETWORK), outside.partner()
        async with chain.stop_mining():
            prepared = await partner.create(OUT, new_address())
            swap_id = prepared["swap"]["id"]
            await outside.fund(prepared, OUT)
            await payment(partner, swap_id, "output", is_mined=False)
            await until(chain.has_waiting, what="the output waits for a block")
            await chain.mine(2)
            sent = await payment(partner, swap_id, "output", is_mined=True)
            assert sent is not None
            before = await chain.block_of(sent)

            await chain.reorg(2, keep=[(await chain.raw(sent), 1)])
            assert await chain.block_of(sent) != before
            await chain.mine(CONFIRMATIONS)
            last = (await outside.follow(swap_id))[-1]["swap"]

        assert last["status"] == "completed"
        outputs = [t["transaction_hash"] for t in last["transactions"] if t["type"] == "output"]
        assert outputs == [sent]


@pytest.mark.slow
class TestARefund:
    @pytest.mark.fault("R7")
    async def test_r7_that_is_dropped_stays_pending_until_it_is_final(
        self, stack: Stack, outside: Outside
    ) -> None:
        chain, owner = Chain.of(stack.description, NETWORK), new_address()
        gateway = stack.description["gateway"]["url"]
        async with httpx.AsyncClient(base_url=gateway) as http:
            partner = Partner(http, await create_short_lived_key(stack), patience=0)
            # The chain is stopped before the payment, because a payment in an early block would be
            # final here.
            async with chain.stop_mining():
                prepared = await partner.create(BACK, new_address(), refund_address=owner)
                swap_id = prepared["swap"]["id"]
                await outside.fund(prepared, BACK, value=BELOW_MINIMUM)
                await chain.mine(CONFIRMATIONS)
                await until(lambda: is_over(chain, prepared), what="its time is over", every=0.5)
                await payment(partner, swap_id, "refund", is_mined=False)
                await until(chain.has_waiting, what="the refund waits for a block")
                await chain.mine()
                sent = await payment(partner, swap_id, "refund", is_mined=True)
                assert sent is not None

                await chain.reorg(1)
                await payment(partner, swap_id, "refund", is_mined=False)
                assert (await partner.read(swap_id))["swap"]["status"] == "pending_refund"

                await sent_again(chain, sent)
                await chain.mine(CONFIRMATIONS)
                await until(
                    lambda: is_refunded(partner, swap_id, sent), what=f"{swap_id} is refunded"
                )

        [returned] = [
            int(i["base_units"])
            for i in (await stack.admin("settler", f"/swaps/{swap_id}"))["intents"]
        ]
        assert await outside.balance(NETWORK, "POL", owner) == returned


async def is_over(chain: Chain, prepared: Mapping[str, Any]) -> bool:
    """Mine a block; return whether it is the first one after the swap's deadline."""
    await chain.mine()
    lifetime = timedelta(seconds=LIFETIME_SECONDS)
    return await chain.now() > datetime.fromisoformat(prepared["swap"]["created_date"]) + lifetime


async def is_refunded(partner: Partner, swap_id: str, sent: str) -> bool:
    swap = (await partner.read(swap_id))["swap"]
    hashes = [t["transaction_hash"] for t in swap["transactions"] if t["type"] == "refund"]
    return (swap["status"], hashes) == ("refunded", [sent])
