from __future__ import annotations

import orjson
import pytest
from aiohttp import web
from eth_account import Account

from swap_chains.errors import ChainUnavailable
from swap_chains.evm import codec
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.sender import EvmSender
from swap_chains.ports import Call, Fees, Reaction

KEY = "0x" + "4b" * 32
CALL = Call(codec.checksum_address("0x" + "7e" * 20), 5, b"\x01", 100_000)
FEES = Fees(30, 2)


def sender_of(session, *nodes):
    rpc = Rpc.to_urls("TESTNET", [n.url for n in nodes], session, timeout_seconds=1)
    return EvmSender(rpc, chain_id=31337, private_key=KEY)


def pool_node(node, respond):
    """Let a node return a result for each transaction, and have the ones in `has`."""
    node.has = set()

    def answer(method, params):
        if method == "eth_getTransactionByHash":
            return {"hash": params[0]} if params[0] in node.has else None
        return respond(node, "0x" + codec.keccak(bytes.fromhex(params[0][2:])).hex())

    node.chain.answer = answer


def accept(node, transaction_hash):
    node.has.add(transaction_hash)
    return transaction_hash


def refuse(text, *, has):
    def respond(node, transaction_hash):
        if has:
            node.has.add(transaction_hash)
        return {"code": -32000, "message": text}

    return respond


async def signed_by(sender):
    return await sender.sign(CALL, nonce=7, fees=FEES)


class TestSign:
    async def test_signs_a_dynamic_fee_transaction_of_this_chain(self, session, serve):
        sender = sender_of(session, await serve())

        signed = await signed_by(sender)

        assert signed.raw[0] == 2
        assert signed.nonce == 7
        assert Account.recover_transaction("0x" + signed.raw.hex()) == sender.address

    @pytest.mark.parametrize(
        ("call", "nonce", "fees"),
        [
            (CALL, 7, FEES),
            (Call("0x" + "00" * 20, 0, b"", 0), 0, Fees(0, 0)),
            (Call("0x" + "0f" * 20, 10**30, b"\x00" * 700, 2**24), 2**32, Fees(10**18, 127)),
            (Call("0x" + "ff" * 20, 128, b"\x7f", 128), 255, Fees(256, 128)),
        ],
    )
    async def test_signs_the_bytes_that_eth_account_does(self, session, serve, call, nonce, fees):
        fields = {
            "type": 2,
            "chainId": 31337,
            "nonce": nonce,
            "to": codec.checksum_address(call.to),
            "value": call.value,
            "data": call.data,
            "gas": call.gas_limit,
            "maxFeePerGas": fees.max_fee_per_gas,
            "maxPriorityFeePerGas": fees.max_priority_fee_per_gas,
        }

        signed = await sender_of(session, await serve()).sign(call, nonce=nonce, fees=fees)

        theirs = Account.sign_transaction(fields, KEY)
        assert (signed.raw, signed.transaction_hash) == (
            bytes(theirs.raw_transaction),
            "0x" + bytes(theirs.hash).hex(),
        )

    @pytest.mark.parametrize("to", ["0x1234", "", "0x" + "00" * 21, "nobody"])
    async def test_refuses_a_recipient_that_is_no_address(self, session, serve, to):
        with pytest.raises(ValueError):  # noqa: PT011  two kinds of words
            await sender_of(session, await serve()).sign(
                Call(to, 0, b"", 21_000), nonce=0, fees=FEES
            )

    async def test_does_not_show_its_key(self, session, serve):
        sender = sender_of(session, await serve())

        assert "4b4b4b" not in f"{sender!r} {sender} {vars(sender)}"
        with pytest.raises(ValueError, match="no private key") as caught:
            EvmSender(sender._rpc, chain_id=1, private_key="0x" + "4b" * 31)
        assert "4b4b4b" not in str(caught.value)
        assert caught.value.__cause__ is None


class TestBroadcast:
    async def test_every_node_gets_the_bytes_once(self, session, serve):
        nodes = [await serve(), await serve()]
        for node in nodes:
            pool_node(node, accept)
        sender = sender_of(session, *nodes)

        (outcome,) = await sender.broadcast([await signed_by(sender)])

        assert [a.reaction for a in outcome.answers] == [Reaction.ACCEPTED] * 2
        assert [node.methods for node in nodes] == [["eth_sendRawTransaction"]] * 2

    @pytest.mark.parametrize("text", ["already known", "nonce too low", "internal error", "???"])
    @pytest.mark.fault("S12", "S21")
    async def test_s12_s21_the_computed_hash_decides_and_not_the_message(
        self, session, serve, text
    ):
        knows, refuses = await serve(), await serve()
        pool_node(knows, refuse(text, has=True))
        pool_node(refuses, refuse(text, has=False))
        sender = sender_of(session, knows, refuses)

        (outcome,) = await sender.broadcast([await signed_by(sender)])

        assert [a.reaction for a in outcome.answers] == [Reaction.KNOWN, Reaction.REJECTED]
        assert outcome.is_held_by_a_node
        assert not outcome.is_refused
        assert outcome.text == text

    @pytest.mark.fault("S6")
    async def test_s6_a_lost_answer_is_looked_up(self, session, serve):
        node = await serve()
        pool_node(node, accept)
        sender = sender_of(session, node)

        async def drop_first_answer(answers):
            if node.requests == 1:
                return web.Response(status=504)
            return web.Response(body=orjson.dumps(answers))

        node.reply = drop_first_answer
        (outcome,) = await sender.broadcast([await signed_by(sender)])

        assert [a.reaction for a in outcome.answers] == [Reaction.KNOWN]
        assert node.methods.count("eth_sendRawTransaction") == 1

    async def test_a_lost_answer_about_an_unknown_hash_is_no_refusal(self, session, serve):
        node, other = await serve(), await serve()
        pool_node(node, lambda node, transaction_hash: transaction_hash)
        pool_node(other, refuse("no", has=False))
        sender = sender_of(session, node, other)

        async def drop_first_answer(answers):
            if node.requests == 1:
                return web.Response(status=504)
            return web.Response(body=orjson.dumps(answers))

        node.reply = drop_first_answer
        (outcome,) = await sender.broadcast([await signed_by(sender)])

        assert [a.reaction for a in outcome.answers] == [Reaction.UNREACHABLE, Reaction.REJECTED]
        assert not outcome.is_refused

    async def test_a_node_that_answers_another_hash_has_not_accepted(self, session, serve):
        node, other = await serve(), await serve()
        pool_node(node, lambda node, transaction_hash: "0x" + "99" * 32)
        pool_node(other, accept)
        sender = sender_of(session, node, other)

        (outcome,) = await sender.broadcast([await signed_by(sender)])

        assert [a.reaction for a in outcome.answers] == [Reaction.UNREACHABLE, Reaction.ACCEPTED]

    @pytest.mark.fault("S30")
    async def test_s30_one_node_in_reach_is_enough_and_none_is_an_error(self, session, serve):
        down, up = await serve(), await serve()

        async def fail(answers):
            return web.Response(status=500)

        down.reply = fail
        pool_node(up, accept)
        signed = await signed_by(sender_of(session, up))

        (outcome,) = await sender_of(session, down, up).broadcast([signed])
        assert outcome.is_held_by_a_node
        with pytest.raises(ChainUnavailable):
            await sender_of(session, down).broadcast([signed])
        with pytest.raises(ChainUnavailable):
            await sender_of(session, down).look_up([signed.transaction_hash])

    async def test_a_lookup_distinguishes_absence_from_no_answer(self, session, serve):
        down, up = await serve(), await serve()

        async def fail(answers):
            return web.Response(status=500)

        down.reply = fail
        pool_node(up, accept)

        (sighting,) = await sender_of(session, down, up).look_up(["0x" + "12" * 32])

        assert (sighting.known_to, len(sighting.unknown_to), len(sighting.unreachable)) == (
            (),
            1,
            1,
        )
