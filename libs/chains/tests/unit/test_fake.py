"""Features of the fake chain beyond the suite that it shares with a real node."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from libs.chains.tests.following import follow
from swap_chains.errors import CallReverted, ChainUnavailable
from swap_chains.events import BlockAdded
from swap_chains.evm import codec
from swap_chains.evm.codec import ZERO_ADDRESS, Payment
from swap_chains.fake import FakeChain, FakeReader, FakeSender
from swap_chains.ports import Call, Fees

DEPOSITORY, TREASURY, TOKEN, OPERATOR, RECIPIENT = (
    codec.checksum_address("0x" + digits * 20) for digits in ("d1", "7e", "70", "0b", "05")
)
LOW, BARELY_HIGHER, HIGHER = (
    Fees(10**10, 10**9),
    Fees(10**10 + 1, 10**9 + 1),
    Fees(11 * 10**9, 2 * 10**9),
)
PAYMENT = Payment(1, ZERO_ADDRESS, RECIPIENT, 5)


def make_chain():
    chain = FakeChain("FAKE", depository=DEPOSITORY, treasury=TREASURY, decimals={TOKEN: 6})
    chain.give(TREASURY, ZERO_ADDRESS, 100)
    chain.authorize(OPERATOR)
    return chain


def pay(*payments):
    return Call(TREASURY, 0, codec.encode_pay_batch(payments), 500_000)


async def submit(chain, call, *, nonce=0, fees=LOW):
    sender = FakeSender(chain, OPERATOR)
    signed = await sender.sign(call, nonce=nonce, fees=fees)
    (outcome,) = await sender.broadcast([signed])
    return signed, outcome


async def test_a_replacement_needs_a_tenth_more_of_both_fees():
    chain = make_chain()
    await submit(chain, pay(PAYMENT))

    _, refused = await submit(chain, pay(PAYMENT), fees=BARELY_HIGHER)
    _, replaced = await submit(chain, pay(PAYMENT), fees=HIGHER)

    assert refused.is_refused
    assert "underpriced" in refused.text
    assert replaced.is_held_by_a_node
    assert len(chain.pool) == 1


async def test_a_transaction_below_the_base_fee_waits():
    chain = make_chain()
    signed, _ = await submit(chain, pay(PAYMENT))
    chain.base_fee = 10**12

    chain.mine()
    assert signed.transaction_hash in chain.pool
    chain.base_fee = 1
    chain.mine()
    assert not chain.pool


async def test_a_nonce_ahead_waits_for_the_gap_to_close():
    chain = make_chain()
    await submit(chain, pay(PAYMENT), nonce=1)
    chain.mine()
    assert len(chain.pool) == 1

    await submit(chain, pay(Payment(2, ZERO_ADDRESS, RECIPIENT, 5)), nonce=0)
    chain.mine()
    assert not chain.pool


@pytest.mark.parametrize("token", [ZERO_ADDRESS, TOKEN])
async def test_refusing_recipient_reverts_the_whole_batch(token):
    chain = make_chain()
    chain.give(TREASURY, TOKEN, 100)
    fine, bad = Payment(1, token, OPERATOR, 5), Payment(2, token, RECIPIENT, 6)
    chain.refuse(RECIPIENT)
    reader = FakeReader(chain)

    with pytest.raises(CallReverted) as caught:
        await reader.estimate_gas(pay(fine, bad), sender=OPERATOR)
    assert caught.value.data == (
        codec.selector("PaymentFailed(uint256,address,address,uint256)") + bad.words()
    )

    signed, _ = await submit(chain, pay(fine, bad))
    chain.mine()
    assert not (await reader.receipts([signed.transaction_hash]))[signed.transaction_hash].succeeded
    assert chain.world.paid == set()
    chain.refuse(RECIPIENT, refuses=False)
    assert await reader.estimate_gas(pay(fine, bad), sender=OPERATOR)


async def test_a_payment_of_a_paused_treasury_reverts():
    chain = make_chain()
    chain.pause()

    with pytest.raises(CallReverted):
        await FakeReader(chain).estimate_gas(pay(PAYMENT), sender=OPERATOR)


async def test_an_intent_that_was_reorged_out_can_be_paid_again():
    chain = make_chain()
    signed, _ = await submit(chain, pay(PAYMENT))
    chain.mine()
    assert chain.world.paid == {1}

    chain.reorg(1)
    assert chain.world.paid == set()
    chain.reorg(1, [(signed, 0)])
    assert chain.world.paid == {1}


async def test_an_unavailable_chain_is_waited_for():
    chain = make_chain()
    reader, start = FakeReader(chain), chain.blocks[0]
    chain.make_unavailable()
    with pytest.raises(ChainUnavailable):
        await reader.head()
    with pytest.raises(ChainUnavailable):
        await submit(chain, pay(PAYMENT))

    async def first_block():
        async with aclosing(follow(reader, after=start)) as events:
            async for event in events:
                if isinstance(event, BlockAdded):
                    return event.block

    waiting = asyncio.create_task(first_block())
    chain.mine()
    await asyncio.sleep(0)
    assert not waiting.done()
    chain.make_available()

    assert await asyncio.wait_for(waiting, 5) == chain.blocks[1]
