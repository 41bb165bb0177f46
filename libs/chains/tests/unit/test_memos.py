"""The memo of a direct transfer, byte for byte, and parties that cannot claim by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eth_utils.abi import function_abi_to_4byte_selector
from hypothesis import given
from hypothesis import strategies as st

from swap_chains.events import LogId, NativeReceived, TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.memos import (
    MEMO_TAG,
    encode_memo,
    encode_transfer_with_memo,
    memo_number,
    with_proven_memos,
)
from swap_chains.evm.wallet_calls import Transaction

TREASURY, TOKEN, OTHER_TOKEN, WALLET, USER = ("0x" + d * 20 for d in ("7e", "70", "71", "3a", "05"))
HASH = "0x" + "01" * 32
ARTIFACT = Path(__file__).parents[4] / "evm/artifacts/Treasury.json"
NUMBERS = st.integers(min_value=1, max_value=codec.SEQUENCE_NUMBER_MAX)


def transfer(units, token=TOKEN, to=TREASURY, nth=0, by=WALLET):
    log_id = LogId(HASH, f"{by}{token}{units}", nth)
    return TokenTransfer(log_id, token, by, to, units, memo=b"", claimed_by=None)


def call(units, memo=b""):
    return encode_transfer_with_memo(TREASURY, units, memo)


def memos(data, *transfers, to=WALLET, value=0):
    transaction = Transaction(USER, to, value, data)
    proven = with_proven_memos(transfers, TREASURY, {HASH: transaction})
    return [memo_number(t.memo) for t in proven]


class TestMemo:
    def test_is_a_tag_and_the_sequence_number_in_one_word(self):
        assert encode_memo(2**53 - 1).hex() == "53574150" + "0" * 42 + "1fffffffffffff"

    @given(NUMBERS)
    def test_is_read_back(self, number):
        memo = encode_memo(number)

        assert len(memo) == codec.WORD
        assert memo_number(memo) == number

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            MEMO_TAG,
            MEMO_TAG + bytes(28),
            b"PAWS" + bytes(27) + b"\1",
            MEMO_TAG + b"\1" + bytes(26) + b"\1",
            encode_memo(1) + b"\0",
            encode_memo(1)[1:],
        ],
    )
    def test_is_not_read_from_other_data(self, data):
        assert memo_number(data) is None

    @pytest.mark.parametrize("number", [0, -1, 2**53])
    def test_is_not_made_of_what_is_no_sequence_number(self, number):
        with pytest.raises(ValueError, match="out of range"):
            encode_memo(number)

    def test_calls_no_function_of_the_treasury(self):
        functions = [f for f in json.loads(ARTIFACT.read_text())["abi"] if f["type"] == "function"]

        assert functions
        assert MEMO_TAG not in {function_abi_to_4byte_selector(f) for f in functions}


class TestOfTheTransactionsSender:
    @pytest.mark.parametrize(
        ("data", "transfers", "expected"),
        [
            pytest.param(b"", [transfer(5, by=USER)], [None], id="no call data"),
            pytest.param(call(5, encode_memo(1)), [transfer(5, by=USER)], [1], id="the whole call"),
            pytest.param(
                call(5, encode_memo(1)) + b"a wallet's own",
                [transfer(5, by=USER)],
                [1],
                id="with bytes of the sender's wallet behind it",
            ),
            pytest.param(
                call(5, encode_memo(1)), [transfer(6, by=USER)], [None], id="another amount"
            ),
            pytest.param(
                call(5, encode_memo(1)),
                [transfer(5, to=USER, by=USER)],
                [None],
                id="another recipient",
            ),
            pytest.param(
                call(5) + encode_memo(1)[:31], [transfer(5, by=USER)], [None], id="cut off"
            ),
            pytest.param(
                b"\1" * 4 + call(5, encode_memo(1)), [transfer(5, by=USER)], [None], id="within"
            ),
            pytest.param(
                call(5, encode_memo(1)),
                [transfer(5, by=USER), transfer(5, nth=1, by=USER)],
                [None, None],
                id="moved twice, called once",
            ),
            pytest.param(
                call(5, encode_memo(1)),
                [transfer(5, by=USER), transfer(5, OTHER_TOKEN, by=USER)],
                [1, None],
                id="another token moved during the call",
            ),
        ],
    )
    def test_gives_a_memo_only_to_the_transfer_that_it_is_of(self, data, transfers, expected):
        assert memos(data, *transfers, to=TOKEN) == expected

    def test_ignores_bytes_behind_another_function_of_the_token(self):
        """The sender of a signed authorization can append them."""
        signed = codec.selector("transferWithAuthorization(address)") + bytes(32)
        data = signed + call(5, encode_memo(1))

        assert memos(data, transfer(5, by=USER), to=TOKEN) == [None]

    def test_is_no_memo_for_tokens_of_others(self):
        data = call(5, encode_memo(1))

        assert memos(data, transfer(5, by=USER), transfer(5), to=TOKEN) == [1, None]

    def test_is_no_memo_through_a_contract_that_moves_the_users_tokens(self):
        data = call(5, encode_memo(1))

        assert memos(data, transfer(5, by=USER), to=WALLET) == [None]
        assert memos(data, transfer(5, by=USER), to=None) == [None]

    @pytest.mark.parametrize(
        ("by", "to", "value", "expected"),
        [
            pytest.param(USER, TREASURY, 5, 1, id="sent"),
            pytest.param(USER, WALLET, 5, None, id="by a contract in between"),
            pytest.param(WALLET, WALLET, 5, None, id="by a contract of its own"),
            pytest.param(USER, TREASURY, 6, None, id="another value"),
        ],
    )
    def test_proves_the_memo_of_coins_that_the_user_sent(self, by, to, value, expected):
        log_id = LogId(HASH, "coins", 0)
        received = NativeReceived(log_id, by, TREASURY, 5, encode_memo(1), claimed_by=None)

        assert memos(encode_memo(1), received, to=to, value=value) == [expected]
