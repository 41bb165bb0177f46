from __future__ import annotations

from uuid import UUID

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector, keccak, to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from swap_chains.evm import codec
from swap_chains.evm.codec import Payment

words = st.integers(min_value=0, max_value=2**256 - 1)
addresses = st.binary(min_size=20, max_size=20).map(to_checksum_address)
keys = st.integers(min_value=1, max_value=codec.SEQUENCE_NUMBER_MAX)


def packed(signature, types, values):
    return function_signature_to_4byte_selector(signature) + encode(types, values)


class TestAddresses:
    @given(st.binary(min_size=20, max_size=20))
    def test_checksums_are_those_of_the_standard(self, raw):
        address = "0x" + raw.hex()

        checksummed = codec.checksum_address(address)

        assert checksummed == to_checksum_address(raw)
        assert codec.checksum_address(checksummed) == checksummed
        assert codec.checksum_address("0x" + raw.hex().upper()) == checksummed
        assert codec.has_valid_checksum(checksummed)
        assert codec.has_valid_checksum(address)

    @pytest.mark.parametrize("text", ["", "0x", "0x12", "12" * 21, "0x" + "zz" * 20])
    def test_invalid_address_is_refused(self, text):
        with pytest.raises(ValueError, match=r"not an address|invalid literal"):
            codec.checksum_address(text)

    def test_a_wrong_case_is_no_valid_checksum(self):
        address = codec.checksum_address("0x" + "ab" * 20)

        assert not codec.has_valid_checksum(address.swapcase().replace("0X", "0x"))


class TestIds:
    @given(keys)
    def test_a_sequence_number_survives_its_depository_id(self, number):
        key = codec.depository_id(number)

        assert bytes.fromhex(key[2:]) == encode(["uint256"], [number])
        assert codec.sequence_number_of(key) == number

    @pytest.mark.parametrize("number", [0, -1, 2**53])
    def test_a_sequence_number_outside_of_its_range_has_no_id(self, number):
        with pytest.raises(ValueError, match="out of range"):
            codec.depository_id(number)

    def test_an_external_id_has_no_sequence_number(self):
        assert codec.sequence_number_of("0x" + "ff" * 32) is None
        assert codec.sequence_number_of("0x" + "00" * 32) is None

    def test_an_intent_id_is_pinned_to_its_preimage(self):
        subject = UUID("11111111-2222-4333-8444-555555555555")

        intent = codec.intent_id(subject, "output", "main")

        preimage = subject.bytes + b"output\x00main"
        assert intent == int.from_bytes(keccak(preimage), "big")
        assert hex(intent) == "0x3b54d7057196d93e98c1193eb8cd40d8b988c84ecd865a8238aec182829ec11e"

    @given(st.uuids(), st.text("abc", max_size=3), st.text("abc", max_size=3))
    def test_kind_and_leg_cannot_be_read_otherwise(self, subject, kind, leg):
        moved = codec.intent_id(subject, kind + "a", leg)

        assert moved != codec.intent_id(subject, kind, "a" + leg)
        with pytest.raises(ValueError, match="zero byte"):
            codec.intent_id(subject, "a\0", leg)

    def test_a_fingerprint_distinguishes_topics_from_data(self):
        word, emitter = "0x" + "11" * 32, "0x" + "22" * 20

        both = codec.log_fingerprint(emitter, [word, word], "0x")
        one = codec.log_fingerprint(emitter, [word], word)

        assert both != one
        assert both == codec.log_fingerprint(emitter, [word, word], "0x")


class TestCalls:
    @given(keys, addresses, addresses, words)
    def test_deposits(self, number, token, receiver, amount):
        key = codec.depository_id(number)
        word = bytes.fromhex(key[2:])

        assert codec.encode_deposit_native(key, receiver) == packed(
            "depositNative(bytes32,address)", ["bytes32", "address"], [word, receiver]
        )
        assert codec.encode_deposit_erc20(key, token, receiver, amount) == packed(
            "depositERC20(bytes32,address,address,uint256)",
            ["bytes32", "address", "address", "uint256"],
            [word, token, receiver, amount],
        )

    @given(st.lists(st.builds(Payment, words, addresses, addresses, words), max_size=4))
    def test_payments(self, payments):
        types = ["uint256", "address", "address", "uint256"]
        rows = [(p.intent_id, p.token, p.to_address, p.base_units) for p in payments]

        for payment, row in zip(payments, rows, strict=True):
            assert codec.encode_pay(payment) == packed(
                "pay(uint256,address,address,uint256)", types, row
            )
        assert codec.encode_pay_batch(payments) == packed(
            "payBatch((uint256,address,address,uint256)[])", [f"({','.join(types)})[]"], [rows]
        )

    @given(addresses, addresses, words)
    def test_tokens_and_views(self, account, other, amount):
        pair = ["address", "uint256"]
        assert codec.encode_approve(account, amount) == packed(
            "approve(address,uint256)", pair, [account, amount]
        )
        assert codec.encode_transfer(account, amount) == packed(
            "transfer(address,uint256)", pair, [account, amount]
        )
        assert codec.encode_balance_of(account) == packed(
            "balanceOf(address)", ["address"], [account]
        )
        assert codec.encode_allowance(account, other) == packed(
            "allowance(address,address)", ["address", "address"], [account, other]
        )
        assert codec.encode_is_paid(amount) == packed("isPaid(uint256)", ["uint256"], [amount])
        assert codec.encode_is_operator(account) == packed(
            "isOperator(address)", ["address"], [account]
        )
        assert codec.encode_is_whitelisted(account) == packed(
            "isWhitelisted(address)", ["address"], [account]
        )
        assert codec.encode_decimals() == packed("decimals()", [], [])

    def test_a_number_beyond_a_word_is_refused(self):
        with pytest.raises(OverflowError):
            codec.encode_approve(codec.ZERO_ADDRESS, 2**256)

    @given(words)
    def test_a_view_answers_one_word(self, number):
        assert codec.decode_uint(encode(["uint256"], [number])) == number

    @pytest.mark.parametrize("returned", [b"", b"\x00", bytes(64)])
    def test_anything_but_one_word_is_no_number(self, returned):
        with pytest.raises(ValueError, match="expected one word"):
            codec.decode_uint(returned)

    def test_two_is_no_boolean(self):
        assert codec.decode_bool(encode(["bool"], [True]))
        assert not codec.decode_bool(encode(["bool"], [False]))
        with pytest.raises(ValueError, match="no boolean"):
            codec.decode_bool(encode(["uint256"], [2]))


class TestLogs:
    @given(words, st.binary(max_size=100))
    def test_words_and_bytes_are_read_by_their_places(self, amount, memo):
        data = "0x" + encode(["uint256", "bytes"], [amount, memo]).hex()

        assert codec.data_uint(data, 0) == amount
        assert codec.data_bytes(data, 1) == memo

    @given(addresses)
    def test_an_address_survives_its_topic(self, address):
        topic = codec.address_topic(address)

        assert bytes.fromhex(topic[2:]) == encode(["address"], [address])
        assert codec.topic_address(topic) == address

    @given(words, st.binary(min_size=1, max_size=64), st.data())
    def test_data_that_was_cut_off_is_refused(self, amount, memo, data):
        whole = encode(["uint256", "bytes"], [amount, memo])
        end = data.draw(st.integers(min_value=0, max_value=95 + len(memo)))

        with pytest.raises(ValueError, match=r"no word|outside of|are not in"):
            codec.data_bytes("0x" + whole[:end].hex(), 1)

    def test_an_offset_beyond_the_data_is_refused(self):
        data = "0x" + encode(["uint256", "uint256"], [1, 2**255]).hex()

        with pytest.raises(ValueError, match="outside of"):
            codec.data_bytes(data, 1)

    def test_topics_are_the_events(self):
        assert codec.TRANSFER == (
            "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
        )
        for topic, signature in (
            (codec.DEPOSITED, "Deposited(bytes32,address,address,uint256)"),
            (codec.NATIVE_RECEIVED, "NativeReceived(address,uint256,bytes)"),
            (codec.PAID, "Paid(uint256,address,address,uint256)"),
        ):
            assert topic == "0x" + keccak(text=signature).hex()
