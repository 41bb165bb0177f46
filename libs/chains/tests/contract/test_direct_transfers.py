"""Transfers to the Treasury, as every ChainReader reports them: the fake and a real node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swap_chains.events import Deposited, NativeReceived, TokenTransfer
from swap_chains.evm.memos import encode_memo

MEMO, OTHER_MEMO = encode_memo(2**53 - 1), encode_memo(7)


async def sent(chain, *calls):
    """Mine the calls; return their movements."""
    start = await chain.reader.head()
    await chain.send_and_mine(chain.user, *calls)
    return await chain.movements_after(start)


class TestOfAToken:
    async def test_bring_the_memo_behind_their_arguments(self, chain):
        (transfer,) = await sent(chain, chain.transfer(chain.treasury, 5, MEMO))

        assert (transfer.from_address, transfer.base_units) == (chain.user.address, 5)
        assert (transfer.memo, transfer.claimed_by) == (MEMO, None)

    @pytest.mark.parametrize("rest", [b"", MEMO[:31], b"\0" * 32, b"\1" + MEMO])
    async def test_with_an_incomplete_memo_are_published_without_one(self, chain, rest):
        (transfer,) = await sent(chain, chain.transfer(chain.treasury, 5, rest))

        assert (transfer.base_units, transfer.memo) == (5, b"")

    async def test_keep_their_memo_when_a_wallet_adds_something_of_its_own(self, chain):
        (transfer,) = await sent(chain, chain.transfer(chain.treasury, 5, MEMO + b"by a wallet"))

        assert transfer.memo == MEMO

    async def test_of_one_block_keep_their_memos_apart(self, chain):
        calls = (chain.transfer(chain.treasury, 5, m) for m in (MEMO, OTHER_MEMO))

        one, other = await sent(chain, *calls)

        assert (one.memo, other.memo) == (MEMO, OTHER_MEMO)

    async def test_are_the_same_for_later_readers(self, chain):
        start = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 5, MEMO))
        (followed,) = await chain.movements_after(start)
        head = await chain.reader.head()

        (again,) = await chain.reader.movements(first=head.number, last=head)

        assert again.movements == (followed,)


class TestThroughAWallet:
    async def test_bring_a_tokens_memo(self, chain):
        call = chain.through_wallet(chain.transfer(chain.treasury, 5, MEMO))

        (transfer,) = await sent(chain, call)

        assert (transfer.from_address, transfer.memo) == (chain.wallet, MEMO)

    @pytest.mark.fault("W20")
    async def test_w20_bring_a_coins_memo(self, chain):
        (received,) = await sent(chain, chain.through_wallet(chain.send_native(9, MEMO)))

        assert isinstance(received, NativeReceived)
        assert (received.from_address, received.base_units) == (chain.wallet, 9)
        assert (received.memo, received.claimed_by) == (MEMO, None)

    @pytest.mark.fault("W20")
    async def test_w20_are_found_without_a_memo_too(self, chain):
        calls = (chain.transfer(chain.treasury, 5), chain.send_native(9))

        transfer, received = await sent(chain, chain.through_wallet(*calls))

        assert (transfer.base_units, transfer.memo) == (5, b"")
        assert (received.base_units, received.memo) == (9, b"")

    async def test_of_different_amounts_have_a_memo_each(self, chain):
        calls = (
            chain.transfer(chain.treasury, 5, MEMO),
            chain.transfer(chain.treasury, 6, OTHER_MEMO),
        )

        one, other = await sent(chain, chain.through_wallet(*calls))

        assert (one.memo, other.memo) == (MEMO, OTHER_MEMO)

    @pytest.mark.fault("W20")
    async def test_w20_in_a_form_that_is_not_listed_have_no_memo(self, chain):
        """Its arguments may be those of another party, because the wallet's form is unknown."""
        calls = (chain.transfer(chain.treasury, 5, MEMO), chain.send_native(9, MEMO))

        transfer, received = await sent(chain, chain.through_unlisted_form(*calls))

        assert (transfer.base_units, transfer.memo) == (5, b"")
        assert (received.base_units, received.memo) == (9, b"")

    @pytest.mark.fault("W20")
    async def test_w20_bring_two_coins_memos_of_one_amount(self, chain):
        calls = (chain.send_native(9, MEMO), chain.send_native(9, OTHER_MEMO))

        one, other = await sent(chain, chain.through_wallet(*calls))

        assert (one.memo, other.memo) == (MEMO, OTHER_MEMO)

    @pytest.mark.fault("W16")
    async def test_w16_bytes_after_the_signed_order_are_no_memo(self, chain):
        call = chain.through_wallet(chain.transfer(chain.treasury, 5))
        carried = replace(call, data=call.data + chain.transfer(chain.treasury, 5, MEMO).data)

        (transfer,) = await sent(chain, carried)

        assert (transfer.base_units, transfer.memo) == (5, b"")

    @pytest.mark.parametrize("other", [b"", MEMO, OTHER_MEMO])
    async def test_of_one_amount_leave_open_whose_memo_it_is(self, chain, other):
        calls = (chain.transfer(chain.treasury, 5, m) for m in (MEMO, other))

        transfers = await sent(chain, chain.through_wallet(*calls))

        assert [t.memo for t in transfers] == [b"", b""]

    @pytest.mark.fault("W16")
    async def test_w16_a_deposit_beside_them_claims_only_what_it_caused(self, chain):
        """The amounts are equal, and each movement is published for only one of the two."""
        calls = (
            chain.transfer(chain.treasury, 5, MEMO),
            chain.approve_depository(5),
            chain.deposit_token(11, 5),
        )

        direct, claimed, deposited = await sent(chain, chain.through_wallet(*calls))

        assert isinstance(deposited, Deposited)
        assert (direct.memo, direct.claimed_by) == (MEMO, None)
        assert (claimed.memo, claimed.claimed_by) == (b"", deposited.id)

    @pytest.mark.fault("W21")
    async def test_w21_that_only_stand_in_the_call_data_are_no_movement(self, chain):
        to_treasury = chain.transfer(chain.treasury, 5, MEMO)
        to_external_account = type(to_treasury)(
            "0x" + "5a" * 20, 0, to_treasury.data, to_treasury.gas_limit
        )

        assert await sent(chain, chain.through_wallet(to_external_account)) == []

    @pytest.mark.fault("W16")
    async def test_w16_a_memo_in_a_deposits_call_data_credits_no_other_swap(self, chain):
        deposit = chain.deposit_token(11, 5)
        transfer_data = chain.transfer(chain.treasury, 5, MEMO).data
        call = type(deposit)(deposit.to, 0, deposit.data + transfer_data, deposit.gas_limit)

        claimed, deposited = await sent(chain, call)

        assert isinstance(claimed, TokenTransfer)
        assert (claimed.memo, claimed.claimed_by) == (b"", deposited.id)


class TestOfAnyToken:
    async def test_are_read_from_their_transaction_whether_followed_or_not(self, chain):
        (sent_one,) = await chain.send_and_mine(chain.user, chain.transfer(chain.wallet, 7))

        reported = await chain.reader.reported_transfers(sent_one.transaction_hash)

        (transfer,) = reported.transfers
        assert (reported.succeeded, reported.block) == (True, await chain.reader.head())
        assert (transfer.token, transfer.base_units) == (chain.token, 7)
        assert (transfer.from_address, transfer.to_address) == (chain.user.address, chain.wallet)

    async def test_are_none_while_their_transaction_is_in_no_block(self, chain):
        assert await chain.reader.reported_transfers(f"0x{9:064x}") is None
