"""The behaviour of every ChainReader: the fake and a real node give the same answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from libs.chains.tests.following import follow
from swap_chains.errors import BlockUnknown, CallReverted, ReorgBeyondFinality
from swap_chains.events import (
    BlockAdded,
    BlocksFinalized,
    BlocksReverted,
    Deposited,
    NativeReceived,
    Paid,
    TokenTransfer,
    Withdrawn,
)
from swap_chains.evm import codec
from swap_chains.evm.codec import ZERO_ADDRESS, Payment
from swap_chains.ports import Call, Holding

EXTERNAL_ACCOUNT = codec.checksum_address("0x" + "5a" * 20)


class TestFollow:
    async def test_yields_each_movement_once(self, chain):
        start = await chain.reader.head()
        (transfer,) = await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 5))
        (native,) = await chain.send_and_mine(chain.user, chain.send_native(7, b"\x01\x02"))
        (deposit,) = await chain.send_and_mine(chain.user, chain.deposit_token(11, 13))

        movements = await chain.movements_after(start)

        assert [type(m) for m in movements] == [
            TokenTransfer,
            NativeReceived,
            TokenTransfer,
            Deposited,
        ]
        first, received, claimed, deposited = movements
        assert (first.token, first.from_address, first.to_address, first.base_units) == (
            chain.token,
            chain.user.address,
            chain.treasury,
            5,
        )
        assert (first.memo, first.claimed_by) == (b"", None)
        assert (received.from_address, received.to_address) == (chain.user.address, chain.treasury)
        assert (received.base_units, received.memo, received.claimed_by) == (7, b"\x01\x02", None)
        assert deposited.swap_key == codec.depository_id(11)
        assert (deposited.token, deposited.receiver) == (chain.token, chain.treasury)
        assert (deposited.base_units, deposited.from_address) == (13, chain.user.address)
        assert claimed.claimed_by == deposited.id
        assert [m.id.transaction_hash for m in movements] == [
            transfer.transaction_hash,
            native.transaction_hash,
            deposit.transaction_hash,
            deposit.transaction_hash,
        ]

    async def test_a_native_deposit_claims_the_receipt_it_caused(self, chain):
        start = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.deposit_native(21, 10**15))

        received, deposited = await chain.movements_after(start)

        assert isinstance(received, NativeReceived)
        assert isinstance(deposited, Deposited)
        assert received.from_address == chain.depository
        assert received.claimed_by == deposited.id
        assert (deposited.token, deposited.base_units) == (ZERO_ADDRESS, 10**15)

    async def test_equal_transfers_of_one_block_are_two_movements(self, chain):
        start = await chain.reader.head()
        call = chain.transfer(chain.treasury, 9)
        await chain.send(chain.user, call, call)
        await chain.mine(1)

        one, other = await chain.movements_after(start)

        assert one.id != other.id
        assert one.id.fingerprint == other.id.fingerprint

    async def test_publishes_payments_of_the_treasury(self, chain):
        start = await chain.reader.head()
        base = start.number * 1000
        payments = [
            chain.native_payment(base + 1, 10),
            Payment(base + 2, chain.token, EXTERNAL_ACCOUNT, 20),
        ]
        await chain.send_and_mine(chain.operator, chain.pay(*payments))

        movements = await chain.movements_after(start)

        assert all(isinstance(m, Paid) for m in movements)
        assert [(m.intent_id, m.token, m.to_address, m.base_units) for m in movements] == [
            (base + 1, ZERO_ADDRESS, EXTERNAL_ACCOUNT, 10),
            (base + 2, chain.token, EXTERNAL_ACCOUNT, 20),
        ]

    async def test_publishes_withdrawals_of_the_owner(self, chain):
        start = await chain.reader.head()
        calls = (
            chain.withdraw(chain.token, EXTERNAL_ACCOUNT, 7),
            chain.withdraw(ZERO_ADDRESS, EXTERNAL_ACCOUNT, 8),
        )
        await chain.send_and_mine(chain.owner, *calls)

        movements = await chain.movements_after(start)

        assert all(isinstance(m, Withdrawn) for m in movements)
        assert [(m.token, m.to_address, m.base_units) for m in movements] == [
            (chain.token, EXTERNAL_ACCOUNT, 7),
            (ZERO_ADDRESS, EXTERNAL_ACCOUNT, 8),
        ]

    async def test_follows_watched_addresses_and_no_others(self, chain):
        start = await chain.reader.head()
        watched = codec.checksum_address("0x" + "ad" * 20)
        chain.watched.add(watched.lower())
        calls = (chain.transfer(watched, 3), chain.transfer(EXTERNAL_ACCOUNT, 4))
        await chain.send_and_mine(chain.user, *calls)

        (transfer,) = await chain.movements_after(start)

        assert (transfer.to_address, transfer.base_units) == (watched, 3)

    async def test_publishes_blocks_without_movements_too_near_the_head(self, chain):
        start = await chain.reader.head()
        await chain.mine(4)

        added = await chain.blocks_until_head(after=start)

        assert [e.block.number for e in added] == [start.number + n for n in (1, 2, 3, 4)]
        parents = [start, *(e.block for e in added)]
        for parent, event in zip(parents, added, strict=False):
            assert event.block.parent_hash == parent.hash

    async def test_yields_the_revert_before_the_replacing_blocks(self, chain):
        """The head's number is the same before and after; only its hash differs."""
        start = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.deposit_token(31, 1))
        reorged = False

        seen = []
        async for event in follow(chain.reader, after=start):
            if isinstance(event, BlocksFinalized):
                continue
            seen.append(event)
            if not reorged:
                reorged = True
                before = await chain.reader.head()
                await chain.reorg(1, [])
            if len(seen) == 3:
                break

        added, reverted, replacing = seen
        assert (await chain.reader.head()).number == before.number
        assert isinstance(added, BlockAdded)
        assert len(added.movements) == 2
        assert reverted == BlocksReverted(ancestor=start, reverted=(before,))
        assert isinstance(replacing, BlockAdded)
        assert replacing.block.parent_hash == start.hash
        assert replacing.block.hash != before.hash
        assert replacing.movements == ()

    async def test_a_movement_mined_again_in_another_block_is_the_same_movement(self, chain):
        start = await chain.reader.head()
        sent = await chain.send_and_mine(chain.user, chain.deposit_token(41, 6))
        await chain.mine(1)
        before = await chain.movements_after(start)

        await chain.reorg(2, [(sent[0], 1)])
        added = await chain.blocks_until_head(after=start)

        assert [len(e.movements) for e in added] == [0, 2]
        assert list(added[1].movements) == before

    async def test_a_transaction_can_be_replaced_by_another_of_its_nonce(self, chain):
        start = await chain.reader.head()
        nonce = await chain.reader.pending_nonce(chain.user.address)
        call = chain.transfer(chain.treasury, 1)
        first = await chain.user.sign(call, nonce=nonce, fees=chain.fees)
        other = await chain.user.sign(
            chain.transfer(chain.treasury, 2), nonce=nonce, fees=chain.fees
        )
        await chain.user.broadcast([first])
        await chain.mine(1)

        await chain.reorg(1, [(other, 0)])

        (movement,) = await chain.movements_after(start)
        assert movement.base_units == 2
        assert movement.id.transaction_hash == other.transaction_hash
        assert await chain.reader.receipts([first.transaction_hash]) == {}

    @pytest.mark.fault("W7")
    async def test_resumes_after_the_given_block_without_gaps(self, chain):
        start = await chain.reader.head()
        for number in range(1, 9):
            await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, number))
        everything = await chain.blocks_until_head(after=start)

        for place, event in enumerate(everything[:-1]):
            rest = await chain.blocks_until_head(after=event.block)
            assert rest == everything[place + 1 :]

    @pytest.mark.fault("W6")
    async def test_finds_a_reorg_that_happened_while_it_was_down(self, chain):
        start = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 8))
        await chain.mine(1)
        blocks = [e.block for e in await chain.blocks_until_head(after=start)]

        await chain.reorg(2, [])
        await chain.mine(2)
        recent, after = [start, blocks[0]], blocks[1]
        head = await chain.reader.head()
        events = await chain.until(
            lambda seen: isinstance(seen[-1], BlockAdded) and seen[-1].block == head,
            after=after,
            recent=recent,
        )

        events = [e for e in events if not isinstance(e, BlocksFinalized)]
        assert events[0] == BlocksReverted(ancestor=start, reverted=tuple(blocks))
        assert [e.block.number for e in events[1:]] == [start.number + n for n in (1, 2, 3, 4)]

    async def test_raises_when_the_reorg_reaches_below_finality(self, chain):
        start = await chain.reader.head()
        # Empty blocks of the same second may have the same hash after a reorg.
        await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 9))
        await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 9))
        await chain.mine(4)
        final = start.number + 4
        received = []

        async def receive():
            async for event in follow(chain.reader, after=start):
                received.append(event)
                if isinstance(event, BlocksFinalized) and event.upto.number == final:
                    await chain.reorg(5, [])

        with pytest.raises(ReorgBeyondFinality) as caught:
            await receive()

        assert isinstance(received[-1], BlocksFinalized)
        assert caught.value.network == chain.reader.network

    async def test_raises_when_the_reorg_leaves_none_of_the_given_blocks(self, chain):
        await chain.mine(2)
        await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 7))
        head = await chain.reader.head()
        await chain.reorg(2, [])

        with pytest.raises(ReorgBeyondFinality):
            await chain.until(lambda seen: False, after=head)

    async def test_finalized_blocks_are_published_in_order_after_their_addition(self, chain):
        start = await chain.reader.head()
        await chain.mine(5)
        final = await chain.reader.final_block()

        events = await chain.until(lambda seen: BlocksFinalized(final) in seen, after=start)

        numbers = [e.upto.number for e in events if isinstance(e, BlocksFinalized)]
        added = [e.block for e in events if isinstance(e, BlockAdded)]
        assert numbers == sorted(numbers)
        assert final in added

    async def test_batches_give_the_same_result_as_single_facts(self, chain):
        start = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.deposit_token(51, 1))
        await chain.mine(2)
        head = await chain.reader.head()

        flat: list[object] = []
        async for batch in chain.reader.follow_batches(after=start):
            assert batch
            flat += batch
            if any(isinstance(e, BlockAdded) and e.block == head for e in batch):
                break

        assert [e for e in flat if isinstance(e, BlockAdded)] == await chain.blocks_until_head(
            after=start
        )


class TestState:
    async def test_blocks_are_found_by_number(self, chain):
        head = await chain.reader.head()

        assert await chain.reader.block_at(head.number) == head
        assert (await chain.reader.final_block()).number == head.number - 2
        with pytest.raises(BlockUnknown):
            await chain.reader.block_at(head.number + 1)

    async def test_answers_are_pinned_to_the_requested_block(self, chain):
        before = await chain.reader.head()
        held = Holding(chain.treasury, chain.token)
        nonce = await chain.reader.nonce(chain.user.address, at=before)
        old = await chain.reader.balances([held], at=before)
        await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 17))
        after = await chain.reader.head()

        assert await chain.reader.nonce(chain.user.address, at=before) == nonce
        assert await chain.reader.nonce(chain.user.address, at=after) == nonce + 1
        assert await chain.reader.balances([held], at=before) == old
        assert await chain.reader.balances([held], at=after) == {held: old[held] + 17}

    async def test_coin_and_token_balances_are_read_together(self, chain):
        head = await chain.reader.head()
        holdings = [Holding(EXTERNAL_ACCOUNT, chain.token), Holding(chain.treasury, ZERO_ADDRESS)]

        balances = await chain.reader.balances(holdings, at=head)

        assert set(balances) == set(holdings)
        assert balances[holdings[1]] > 0

    async def test_each_provider_reports_balances(self, chain):
        head = await chain.reader.head()
        holdings = [Holding(chain.treasury, ZERO_ADDRESS), Holding(EXTERNAL_ACCOUNT, chain.token)]

        reports = await chain.reader.balances_of_each_provider(holdings, at=head)

        balances = await chain.reader.balances(holdings, at=head)
        assert list(reports.values()) == [balances]

    async def test_balances_of_a_block_that_no_provider_has_are_reported_by_none(self, chain):
        unknown = replace(await chain.reader.head(), hash="0x" + "ab" * 32)
        holdings = [Holding(chain.treasury, ZERO_ADDRESS)]

        assert await chain.reader.balances_of_each_provider(holdings, at=unknown) == {}

    async def test_every_provider_reports_the_movements_of_a_block(self, chain):
        """A provider without a block reports nothing about it, which is no denial."""
        [sent] = await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 5))
        block = await chain.reader.head()
        hashes = [sent.transaction_hash, "0x" + "ab" * 32]

        [report] = await chain.reader.block_of_each_provider(block, transaction_hashes=hashes)
        [added] = await chain.reader.movements(first=block.number, last=block)
        unknown = replace(block, hash="0x" + "ab" * 32)
        [nothing] = await chain.reader.block_of_each_provider(unknown, transaction_hashes=hashes)

        assert report.movements == added.movements
        assert report.movements[0].id.transaction_hash == sent.transaction_hash
        assert (report.provider, report.failure) == (nothing.provider, "")
        assert nothing.movements is None
        assert nothing.failure

    async def test_balances_of_many_accounts_are_those_of_each(self, chain):
        """Coins are read in several calls, as one returns a limited number; accounts may repeat."""
        accounts = [codec.checksum_address(f"0x{n + 1:040x}") for n in range(1003)]
        mine = [chain.user.address, chain.treasury, chain.token]
        holdings = [Holding(a, ZERO_ADDRESS) for a in (*accounts[:700], *mine, *accounts[700:])]
        token = Holding(chain.treasury, chain.token)
        head = await chain.reader.head()

        balances = await chain.reader.balances([*holdings, token, holdings[0]], at=head)

        assert list(balances) == [*holdings, token]
        for account in mine:
            one = Holding(account, ZERO_ADDRESS)
            assert balances[one] == (await chain.reader.balances([one], at=head))[one]
        assert balances[Holding(chain.user.address, ZERO_ADDRESS)] > 0
        assert balances[Holding(accounts[999], ZERO_ADDRESS)] == 0

    async def test_every_transaction_of_a_few_blocks_is_read(self, chain):
        before = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.transfer(chain.treasury, 5))
        await chain.send_and_mine(chain.user, chain.send_native(7, b"\x01"))
        last = await chain.reader.head()

        found = await chain.reader.transactions_between(first=before.number + 1, last=last)

        assert [(one.to_address, one.value) for one in found] == [
            (chain.token, 0),
            (chain.treasury, 7),
        ]
        assert {one.from_address for one in found} == {chain.user.address}
        assert [one.block_number for one in found] == [last.number - 1, last.number]
        assert await chain.reader.transactions_between(first=last.number, last=last) == found[1:]

    async def test_the_pending_nonce_counts_what_waits(self, chain):
        head = await chain.reader.head()
        nonce = await chain.reader.nonce(chain.user.address, at=head)
        await chain.send(chain.user, chain.send_native(1), chain.send_native(2))

        assert await chain.reader.pending_nonce(chain.user.address) == nonce + 2
        assert await chain.reader.highest_nonce(chain.user.address) == nonce + 2

    async def test_a_view_returns_its_word(self, chain):
        head = await chain.reader.head()
        intent = head.number * 1000 + 7
        view = Call(chain.treasury, 0, codec.encode_is_paid(intent), 0)
        sender = chain.user.address
        payment = chain.native_payment(intent, 1)
        await chain.send_and_mine(chain.operator, chain.pay(payment))
        now = await chain.reader.head()

        assert not codec.decode_bool(await chain.reader.call(view, sender=sender, at=head))
        assert codec.decode_bool(await chain.reader.call(view, sender=sender, at=now))

    async def test_a_revert_contains_the_contracts_message(self, chain):
        head = await chain.reader.head()
        call = chain.pay(chain.native_payment(head.number * 1000 + 8, 1))

        with pytest.raises(CallReverted) as caught:
            await chain.reader.call(call, sender=chain.user.address, at=head)
        with pytest.raises(CallReverted):
            await chain.reader.estimate_gas(call, sender=chain.user.address)

        not_operator = codec.selector("NotOperator(address)")
        assert caught.value.data == not_operator + codec.address_word(chain.user.address)
        assert await chain.reader.estimate_gas(call, sender=chain.operator.address) > 21_000

    async def test_simulated_calls_fail_separately(self, chain):
        head = await chain.reader.head()
        done, new = (chain.native_payment(head.number * 1000 + n, 1) for n in (1, 2))
        await chain.send_and_mine(chain.operator, chain.pay(done))

        again, fine = await chain.reader.simulate(
            [chain.pay(done), chain.pay(new)], sender=chain.operator.address
        )

        already_paid = codec.selector("AlreadyPaid(uint256)")
        assert (again.succeeded, again.is_revert) == (False, True)
        assert again.data == already_paid + codec.uint_word(done.intent_id)
        assert fine.succeeded

    async def test_contracts_are_distinguished_from_accounts(self, chain):
        accounts = [chain.treasury, chain.user.address]

        assert await chain.reader.with_code(accounts) == {chain.treasury}

    async def test_receipts_have_success_and_cost(self, chain):
        good, bad = await chain.send_and_mine(
            chain.user,
            chain.transfer(chain.treasury, 1),
            chain.pay(chain.native_payment(1, 1)),
        )
        head = await chain.reader.head()
        hashes = [good.transaction_hash, bad.transaction_hash, "0x" + "ab" * 32]

        receipts = await chain.reader.receipts(hashes)

        assert {h: r.succeeded for h, r in receipts.items()} == {hashes[0]: True, hashes[1]: False}
        assert all(r.block == head for r in receipts.values())
        assert all(r.fee_base_units >= r.gas_used > 0 for r in receipts.values())

    async def test_each_node_reports_the_outcome_of_a_transaction(self, chain):
        (sent,) = await chain.send_and_mine(chain.user, chain.send_native(3))
        unknown = "0x" + "cd" * 32

        receipts_by_hash = await chain.reader.receipts_of_each_node(
            [sent.transaction_hash, unknown]
        )

        receipts = await chain.reader.receipts([sent.transaction_hash])
        assert [t.receipt for t in receipts_by_hash[sent.transaction_hash]] == list(
            receipts.values()
        )
        assert [(t.has_answered, t.receipt) for t in receipts_by_hash[unknown]] == [(True, None)]

    async def test_a_transaction_is_found_waiting_and_mined(self, chain):
        (sent,) = await chain.send(chain.user, chain.send_native(3, b"memo"))
        h = sent.transaction_hash
        waiting = (await chain.reader.transactions([h]))[h]
        await chain.mine(1)
        mined = (await chain.reader.transactions([h]))[h]
        head = await chain.reader.head()

        assert (waiting.block_number, waiting.block_hash) == (None, None)
        assert (mined.block_number, mined.block_hash) == (head.number, head.hash)
        assert (mined.from_address, mined.to_address) == (chain.user.address, chain.treasury)
        assert (mined.nonce, mined.value, mined.data) == (sent.nonce, 3, b"memo")
        assert await chain.reader.transactions(["0x" + "cd" * 32]) == {}

    async def test_fees_are_enough_for_the_next_block(self, chain):
        fees = await chain.reader.fees()
        signed = await chain.sign(chain.user, chain.send_native(1), fees=fees)
        await chain.user.broadcast([signed])
        await chain.mine(1)

        assert signed.transaction_hash in await chain.reader.receipts([signed.transaction_hash])


class TestMovements:
    async def test_earlier_transfers_to_an_address_can_be_looked_up(self, chain):
        late = codec.checksum_address("0x" + "1a" * 20)
        start = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.transfer(late, 2))
        await chain.mine(1)
        await chain.send_and_mine(chain.user, chain.transfer(late, 3))
        last = await chain.reader.head()

        found = await chain.reader.movements(to=[late], first=start.number, last=last)

        assert [e.block.number for e in found] == [start.number + 1, start.number + 3]
        assert [m.base_units for e in found for m in e.movements] == [2, 3]
        assert await chain.reader.movements(to=[], first=start.number, last=last) == []

    async def test_a_second_look_finds_the_published_movements(self, chain):
        start = await chain.reader.head()
        await chain.send_and_mine(chain.user, chain.deposit_native(55, 10**9))
        await chain.mine(2)
        await chain.send_and_mine(chain.user, chain.deposit_token(56, 3))
        last = await chain.reader.head()

        found = await chain.reader.movements(first=start.number + 1, last=last)

        assert [e.block.number for e in found] == [start.number + 1, start.number + 4]
        assert [m for e in found for m in e.movements] == await chain.movements_after(start)
