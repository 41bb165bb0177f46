"""The memo of a direct transfer, to the last byte, and who cannot claim with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eth_abi.abi import encode
from eth_utils.abi import function_abi_to_4byte_selector, function_signature_to_4byte_selector
from hypothesis import given
from hypothesis import strategies as st

from swap_chains.events import LogId, TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.memos import (
    MEMO_TAG,
    Sent,
    encode_memo,
    encode_transfer_with_memo,
    memo_number,
    with_memos,
)
from swap_chains.evm.user_operations import ENTRY_POINTS

ENTRY_POINT = min(ENTRY_POINTS)
TREASURY, TOKEN, OTHER_TOKEN, WALLET, USER = ("0x" + d * 20 for d in ("7e", "70", "71", "3a", "05"))
HASH = "0x" + "01" * 32
ARTIFACT = Path(__file__).parents[4] / "evm/artifacts/Treasury.json"
NUMBERS = st.integers(min_value=1, max_value=codec.SEQUENCE_NUMBER_MAX)


def transfer(units, token=TOKEN, to=TREASURY, nth=0, by=WALLET):
    log_id = LogId(HASH, f"{by}{token}{units}", nth)
    return TokenTransfer(log_id, token, by, to, units, memo=b"", claimed_by=None)


def call(units, memo=b""):
    return encode_transfer_with_memo(TREASURY, units, memo)


def memos(data, *transfers, to=WALLET):
    told = with_memos(transfers, TREASURY, {HASH: Sent(USER, to, data)})
    return [memo_number(t.memo) for t in told]


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
    def test_is_not_read_from_anything_else(self, data):
        assert memo_number(data) is None

    @pytest.mark.parametrize("number", [0, -1, 2**53])
    def test_is_not_made_of_what_is_no_sequence_number(self, number):
        with pytest.raises(ValueError, match="out of range"):
            encode_memo(number)

    def test_calls_no_function_of_the_treasury(self):
        functions = [f for f in json.loads(ARTIFACT.read_text())["abi"] if f["type"] == "function"]

        assert functions
        assert MEMO_TAG not in {function_abi_to_4byte_selector(f) for f in functions}


class TestWithMemos:
    @pytest.mark.parametrize(
        ("data", "transfers", "expected"),
        [
            pytest.param(b"", [transfer(5)], [None], id="no call data"),
            pytest.param(call(5, encode_memo(1)), [transfer(5)], [1], id="the whole call"),
            pytest.param(
                b"\1" * 13 + call(5, encode_memo(1)) + b"\2" * 7, [transfer(5)], [1], id="within"
            ),
            pytest.param(call(5, encode_memo(1)), [transfer(6)], [None], id="another amount"),
            pytest.param(
                call(5, encode_memo(1)), [transfer(5, to=USER)], [None], id="another recipient"
            ),
            pytest.param(call(5) + encode_memo(1)[:31], [transfer(5)], [None], id="cut off"),
            pytest.param(
                call(5, encode_memo(1)) * 2, [transfer(5)], [None], id="called twice, moved once"
            ),
            pytest.param(
                call(5, encode_memo(1)) + call(5), [transfer(5)], [None], id="a rival without memo"
            ),
            pytest.param(
                call(5, encode_memo(1)),
                [transfer(5), transfer(5, nth=1)],
                [None, None],
                id="moved twice, called once",
            ),
            pytest.param(
                call(5, encode_memo(1)),
                [transfer(5), transfer(5, OTHER_TOKEN)],
                [None, None],
                id="two tokens, one amount",
            ),
            pytest.param(
                call(5, encode_memo(1)) + call(6, encode_memo(2)),
                [transfer(6), transfer(5)],
                [2, 1],
                id="two amounts",
            ),
        ],
    )
    def test_gives_a_memo_only_to_the_transfer_that_it_is_of(self, data, transfers, expected):
        assert memos(data, *transfers) == expected

    def test_believes_no_words_behind_another_function_of_the_token(self):
        """Whoever carries a stranger's signed transfer to the token could write them there."""
        signed = codec.selector("transferWithAuthorization(address)") + bytes(32)
        data = signed + call(5, encode_memo(1))

        assert memos(data, transfer(5, by=USER), to=TOKEN) == [None]

    def test_believes_the_caller_of_the_token_for_his_own_tokens_alone(self):
        """Something of somebody else's may move while a token calls back."""
        data = call(5, encode_memo(1))

        told = memos(data, transfer(5, by=USER), transfer(5, by=WALLET), to=TOKEN)

        assert told == [1, None]

    def test_believes_no_contract_about_the_tokens_of_another(self):
        """A stranger's contract may have a wallet's signed order done, beside words of its own."""
        assert memos(call(5, encode_memo(1)), transfer(5, by=USER), to=WALLET) == [None]
        assert memos(call(5, encode_memo(1)), transfer(5, by=USER), to=None) == [None]

    @given(st.binary(max_size=300), NUMBERS, st.binary(max_size=300))
    def test_finds_it_wherever_a_wallet_put_it(self, before, number, after):
        data = before + call(12_345_678, encode_memo(number)) + after

        assert memos(data, transfer(12_345_678)) == [number]


OTHER_WALLET = "0x" + "3b" * 20
PACKED = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
UNPACKED = "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)"


def bundle(*operations, form=PACKED, signature=b"s" * 65):
    """Encode what an EntryPoint is called with: for each wallet what its operation calls."""
    gas = [bytes(32), 0, bytes(32)] if form == PACKED else [0] * 5
    told = [(w, 0, b"", data, *gas, b"", signature) for w, data in operations]
    return function_signature_to_4byte_selector(f"handleOps({form}[],address)") + encode(
        [f"{form}[]", "address"], [told, USER]
    )


def executed(*calls):
    """What a wallet's operation looks like that has bytes within bytes."""
    return encode(["bytes[]"], [list(calls)])


class TestInABundle:
    @pytest.mark.parametrize("form", [PACKED, UNPACKED])
    @pytest.mark.parametrize("entry_point", sorted(ENTRY_POINTS))
    def test_each_wallet_has_the_memo_that_it_signed_also_for_one_amount(self, form, entry_point):
        data = bundle(
            (WALLET, executed(call(5, encode_memo(1)))),
            (OTHER_WALLET, executed(call(5, encode_memo(2)), call(6, encode_memo(3)))),
            form=form,
        )

        theirs = [transfer(5, by=OTHER_WALLET), transfer(6, by=OTHER_WALLET)]

        assert memos(data, transfer(5), *theirs, to=entry_point) == [1, 2, 3]

    def test_an_operation_that_failed_gives_its_memo_to_nobody_else(self):
        data = bundle((WALLET, executed(call(5, encode_memo(1)))), (OTHER_WALLET, b"pulled"))

        assert memos(data, transfer(5, by=OTHER_WALLET), to=ENTRY_POINT) == [None]

    def test_words_outside_of_what_the_wallet_signed_are_nobodys(self):
        words = executed(call(5, encode_memo(1)))
        data = bundle((WALLET, b"pulled"), signature=words) + words

        assert memos(data, transfer(5), to=ENTRY_POINT) == [None]

    def test_another_contract_than_the_entry_point_is_not_believed(self):
        """It need not ask the wallet, and may keep the wallet's real operation where none sees."""
        data = bundle((WALLET, executed(call(5, encode_memo(1)))))

        assert memos(data, transfer(5), to=ENTRY_POINT) == [1]
        assert memos(data, transfer(5), to=OTHER_WALLET) == [None]

    def test_two_operations_of_one_wallet_leave_open_whose_memo_it_is(self):
        twice = [(WALLET, executed(call(5, encode_memo(n)))) for n in (1, 2)]

        assert memos(bundle(*twice), transfer(5), to=ENTRY_POINT) == [None]

    @given(st.data())
    def test_a_broken_bundle_is_nobodys_and_breaks_nothing(self, data):
        whole = bundle((WALLET, executed(call(5, encode_memo(1)))))
        cut = data.draw(st.integers(min_value=0, max_value=len(whole)))
        noise = data.draw(st.binary(min_size=1, max_size=64))

        memos(whole[:cut], transfer(5), to=ENTRY_POINT)
        memos(whole[:cut] + noise + whole[cut + len(noise) :], transfer(5), to=ENTRY_POINT)
