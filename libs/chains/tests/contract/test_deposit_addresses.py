"""Deposit addresses: computed as the factory does, followed, and swept once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swap_chains.errors import ChainMismatch
from swap_chains.events import NativeReceived, Swept, TokenTransfer
from swap_chains.evm.check import Derivation, check_derivation
from swap_chains.evm.codec import SEQUENCE_NUMBER_MAX, ZERO_ADDRESS, depository_id
from swap_chains.evm.deposit_addresses import (
    Sweep,
    deposit_address,
    encode_address_of,
    encode_sweep,
)
from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.ports import Call, Holding


@pytest.mark.fault("W17", "W24")
async def test_w17_w24_a_sweep_is_published_once_and_claims_the_treasurys_gain(chain):
    address = chain.watch_address_of(501)
    start = await chain.reader.head()
    await chain.send_and_mine(
        chain.user, chain.transfer(address, 70), Call(address, 900, b"", 30_000)
    )
    # The user sweeps it before the service does, because any account may.
    both = chain.sweep(Sweep(501, chain.token), Sweep(501, ZERO_ADDRESS))
    await chain.send_and_mine(chain.user, both)

    came, token, swept_token, coin, swept_coin = await chain.movements_after(start)

    assert isinstance(came, TokenTransfer)
    assert (came.to_address, came.base_units, came.claimed_by) == (address, 70, None)
    for receipt, swept, asset, amount in (
        (token, swept_token, chain.token, 70),
        (coin, swept_coin, ZERO_ADDRESS, 900),
    ):
        assert isinstance(receipt, TokenTransfer | NativeReceived)
        assert isinstance(swept, Swept)
        assert receipt.claimed_by == swept.id
        assert (swept.salt, swept.token) == (depository_id(501), asset)
        assert (swept.from_address, swept.base_units) == (address, amount)


@pytest.mark.fault("W24")
async def test_w24_sweep_of_a_swept_address_moves_no_tokens(chain):
    address = chain.watch_address_of(502)
    await chain.send_and_mine(chain.user, chain.transfer(address, 5))
    await chain.send_and_mine(chain.user, chain.sweep(Sweep(502, chain.token)))
    start = await chain.reader.head()

    again, rest = Sweep(502, chain.token), chain.watch_address_of(503)
    await chain.send_and_mine(chain.user, chain.transfer(rest, 6))
    await chain.send_and_mine(chain.operator, chain.sweep(again, Sweep(503, chain.token)))

    swept = [m for m in await chain.movements_after(start) if isinstance(m, Swept)]
    assert [(s.from_address, s.base_units) for s in swept] == [(rest, 6)]
    held = await chain.reader.balances(
        [Holding(address, chain.token), Holding(rest, chain.token)], at=await chain.reader.head()
    )
    assert set(held.values()) == {0}


async def test_a_deposit_beside_a_sweep_in_one_transaction_is_its_own(chain):
    address = chain.watch_address_of(504)
    await chain.send_and_mine(chain.user, chain.transfer(address, 40))
    start = await chain.reader.head()

    await chain.send_and_mine(
        chain.user,
        chain.through_wallet(
            chain.transfer(chain.treasury, 40), chain.sweep(Sweep(504, chain.token))
        ),
    )

    own, moved, swept = await chain.movements_after(start)
    assert isinstance(own, TokenTransfer)
    assert isinstance(moved, TokenTransfer)
    assert isinstance(swept, Swept)
    assert (own.from_address, own.claimed_by) == (chain.wallet, None)
    assert (moved.from_address, moved.claimed_by) == (address, swept.id)


async def test_more_addresses_than_a_node_takes_at_once_are_followed(chain):
    chain.watched.update(f"0x{n:040x}" for n in range(10_000, 12_000))
    address = chain.watch_address_of(505)
    start = await chain.reader.head()

    unwatched = chain.address_of(506)
    await chain.send_and_mine(chain.user, chain.transfer(address, 8), chain.transfer(unwatched, 9))

    [came] = await chain.movements_after(start)
    assert isinstance(came, TokenTransfer)
    assert (came.to_address, came.base_units) == (address, 8)


@pytest.mark.connected
class TestDerivation:
    async def test_is_the_factorys_own(self, anvil):
        head = await anvil.reader.head()
        for number in (1, 7_000_000_001, SEQUENCE_NUMBER_MAX):
            call = Call(anvil.factory, 0, encode_address_of(number), 100_000)
            word = await anvil.reader.call(call, sender=anvil.user.address, at=head)
            assert "0x" + word[-20:].hex() == anvil.address_of(number).lower()

    @pytest.mark.fault("W25")
    async def test_w25_one_that_differs_from_the_factory_is_refused(self, anvil, anvil_url):
        right = Derivation(anvil.factory, anvil.init_code_hash, anvil.treasury)
        wrong = {
            "no contract at": replace(right, factory=anvil.address_of(1)),
            "init code": replace(right, init_code_hash="0x" + "11" * 32),
            "another Treasury": replace(right, treasury=anvil.depository),
        }
        async with open_session() as session:
            rpc = Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session)
            await check_derivation(rpc, right)
            for text, derivation in wrong.items():
                with pytest.raises(ChainMismatch, match=text):
                    await check_derivation(rpc, derivation)


def test_an_address_is_bound_to_factory_code_and_number():
    factory, code = "0x" + "fa" * 20, "0x" + "01" * 32
    addresses = {
        deposit_address(factory, code, 1),
        deposit_address(factory, code, 2),
        deposit_address("0x" + "fb" * 20, code, 1),
        deposit_address(factory, "0x" + "02" * 32, 1),
    }
    assert len(addresses) == 4
    with pytest.raises(ValueError, match="out of range"):
        deposit_address(factory, code, 0)


def test_many_sweeps_are_one_call():
    data = encode_sweep([Sweep(1, ZERO_ADDRESS), Sweep(2, "0x" + "70" * 20)])
    words = [data[n : n + 32] for n in range(4, len(data), 32)]
    assert [int.from_bytes(word) for word in words[:4]] == [32, 2, 1, 0]
    assert (int.from_bytes(words[4]), words[5][-20:].hex()) == (2, "70" * 20)
