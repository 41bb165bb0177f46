"""The behaviour of every ChainSender: the fake and a real node do the same steps."""

from __future__ import annotations

from swap_chains.evm import codec
from swap_chains.ports import Fees, Reaction

GWEI = 10**9


class TestBroadcast:
    async def test_the_same_bytes_may_be_sent_twice(self, chain):
        signed = await chain.sign(chain.user, chain.send_native(1))

        (first,) = await chain.user.broadcast([signed])
        (second,) = await chain.user.broadcast([signed])
        await chain.mine(1)
        (third,) = await chain.user.broadcast([signed])

        assert [a.reaction for a in first.answers] == [Reaction.ACCEPTED]
        assert [a.reaction for a in second.answers] == [Reaction.KNOWN]
        assert [a.reaction for a in third.answers] == [Reaction.KNOWN]
        assert first.is_held_by_a_node
        assert third.is_held_by_a_node
        assert (await chain.reader.receipts([signed.transaction_hash])).keys() == {
            signed.transaction_hash
        }

    async def test_the_same_call_signs_to_the_same_bytes(self, chain):
        call = chain.send_native(5)

        one = await chain.user.sign(call, nonce=3, fees=chain.fees)
        other = await chain.user.sign(call, nonce=3, fees=chain.fees)

        assert one == other
        assert one.transaction_hash == "0x" + codec.keccak(one.raw).hex()

    async def test_transactions_of_one_broadcast_are_judged_apart(self, chain):
        nonce = await chain.reader.pending_nonce(chain.user.address)
        await chain.send_and_mine(chain.user, chain.send_native(1))
        stale = await chain.user.sign(chain.send_native(9), nonce=nonce, fees=chain.fees)
        fresh = await chain.user.sign(chain.send_native(9), nonce=nonce + 1, fees=chain.fees)

        refused, accepted = await chain.user.broadcast([stale, fresh])

        assert refused.is_refused
        assert refused.transaction_hash == stale.transaction_hash
        assert refused.text
        assert accepted.is_held_by_a_node

    async def test_a_replacement_takes_the_place_of_the_first(self, chain):
        nonce = await chain.reader.pending_nonce(chain.user.address)
        low, high = Fees(50 * GWEI, GWEI), Fees(60 * GWEI, 2 * GWEI)
        first = await chain.user.sign(chain.send_native(1), nonce=nonce, fees=low)
        second = await chain.user.sign(chain.send_native(2), nonce=nonce, fees=high)

        await chain.user.broadcast([first])
        (outcome,) = await chain.user.broadcast([second])
        await chain.mine(1)

        assert outcome.is_held_by_a_node
        receipts = await chain.reader.receipts([first.transaction_hash, second.transaction_hash])
        assert receipts.keys() == {second.transaction_hash}

    async def test_an_intent_is_paid_once_whatever_is_sent(self, chain):
        intent = (await chain.reader.head()).number * 1000 + 3
        call = chain.pay(chain.native_payment(intent, 10))

        one, other = await chain.send_and_mine(chain.operator, call, call)

        receipts = await chain.reader.receipts([one.transaction_hash, other.transaction_hash])
        assert receipts[one.transaction_hash].succeeded
        assert not receipts[other.transaction_hash].succeeded

    async def test_empty_broadcast_calls_no_node(self, chain):
        assert await chain.user.broadcast([]) == []
        assert await chain.user.look_up([]) == []


class TestLookUp:
    async def test_distinguishes_known_from_unknown(self, chain):
        (sent,) = await chain.send(chain.user, chain.send_native(1))
        unknown = "0x" + "ef" * 32

        known, missing = await chain.user.look_up([sent.transaction_hash, unknown])

        assert len(known.known_to) == 1
        assert known.unknown_to == ()
        assert missing.known_to == ()
        assert len(missing.unknown_to) == 1

    async def test_a_dropped_transaction_is_unknown_and_can_be_sent_again(self, chain):
        (sent,) = await chain.send(chain.user, chain.send_native(1))
        await chain.drop(sent)

        (gone,) = await chain.user.look_up([sent.transaction_hash])
        (again,) = await chain.user.broadcast([sent])

        assert gone.known_to == ()
        assert [a.reaction for a in again.answers] == [Reaction.ACCEPTED]
