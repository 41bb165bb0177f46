"""The memo that counts when a contract wallet moved the tokens: only one that its owner signed."""

from __future__ import annotations

import pytest
from eth_abi.abi import decode, encode
from hypothesis import given
from hypothesis import strategies as st

from libs.chains.tests.unit.test_memos import (
    HASH,
    OTHER_TOKEN,
    TOKEN,
    TREASURY,
    USER,
    WALLET,
    call,
    memos,
    transfer,
)
from swap_chains.evm import codec
from swap_chains.evm.memos import encode_memo, memo_number, with_proven_memos
from swap_chains.evm.wallet_calls import (
    CALLS_MAX,
    ENTRY_POINTS,
    MULTI_SEND,
    MULTI_SENDS,
    SAFE_EXECUTE,
    Transaction,
)

ENTRY_POINT = min(ENTRY_POINTS)
OTHER_WALLET = "0x" + "3b" * 20
ZERO = codec.ZERO_ADDRESS
SAFE_TYPES = (
    *("address", "uint256", "bytes", "uint8", "uint256"),
    *("uint256", "uint256", "address", "address", "bytes"),
)
PACKED = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
UNPACKED = "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)"
CALLS = "(address,uint256,bytes)[]"
MINE, THEIRS = encode_memo(1), encode_memo(666)


def word(number):
    return number.to_bytes(32, "big")


def safe(data, to=TOKEN, operation=0, signatures=b"s" * 65):
    return SAFE_EXECUTE + encode(
        SAFE_TYPES, (to, 0, data, operation, 0, 0, 0, ZERO, ZERO, signatures)
    )


def laid_out(data, *, padding, gap, behind, signatures, is_reversed):
    """Encode a Safe's order with another layout: the wallet reads the same ten arguments."""
    tails = [word(len(data)) + data + padding, word(len(signatures)) + signatures]
    at, place, body = {}, 10 * 32 + len(gap), gap
    for nth in reversed(range(2)) if is_reversed else range(2):
        at[nth] = place
        place, body = place + len(tails[nth]), body + tails[nth]
    head = codec.address_word(TOKEN) + word(0) + word(at[0]) + word(0) * 6 + word(at[1])
    return SAFE_EXECUTE + head + body + behind


def many(*inner, operation=0, cut=0, to=TOKEN):
    """Encode MultiSend's list of calls of a token."""
    packed = b"".join(
        bytes([operation]) + bytes.fromhex(to[2:]) + word(0) + word(len(data)) + data
        for data in inner
    )
    return MULTI_SEND + encode(["bytes"], [packed[: len(packed) - cut]])


class TestASafe:
    def test_carries_the_memo_that_its_owners_signed(self):
        assert memos(safe(call(5, MINE)), transfer(5)) == [1]

    @pytest.mark.fault("W16")
    def test_w16_has_no_memo_in_the_padding_of_another_party(self):
        """The owners signed 68 bytes without a memo, and any account may execute them."""
        inner = call(5)
        carried = laid_out(
            inner,
            padding=THEIRS + bytes(28),
            gap=b"",
            behind=b"",
            signatures=b"s" * 96,
            is_reversed=False,
        )

        read = decode(SAFE_TYPES, carried[4:], strict=False)
        assert (read[2], read[3]) == (inner, 0)
        assert memos(carried, transfer(5)) == [None]

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(call(5, MINE), id="the call alone"),
            pytest.param(safe(call(5), to=OTHER_TOKEN) + call(5, MINE), id="further arguments"),
            pytest.param(safe(call(5), signatures=call(5, MINE)), id="in the signatures"),
            pytest.param(safe(call(5, MINE), to=OTHER_TOKEN), id="of another token"),
            pytest.param(safe(call(5, MINE) + b"\0"), id="more than call and memo"),
            pytest.param(safe(b"\0" + call(5, MINE)), id="within other bytes"),
            pytest.param(safe(call(5, MINE), operation=1), id="a delegatecall"),
            pytest.param(safe(call(5, MINE), operation=2), id="an unknown operation"),
            pytest.param(safe(call(5, MINE))[:-200], id="cut off"),
        ],
    )
    def test_has_no_memo_in_other_calls(self, data):
        assert memos(data, transfer(5)) == [None]

    def test_is_no_memo_for_tokens_of_others(self):
        """A contract with a Safe's interface may move tokens that others approved to it."""
        theirs = transfer(5, by=OTHER_WALLET)

        assert memos(safe(call(5, MINE)), theirs, transfer(5, by=USER)) == [None, None]

    @pytest.mark.parametrize("multi_send", sorted(MULTI_SENDS))
    def test_makes_several_calls_by_a_known_multi_send(self, multi_send):
        data = safe(many(call(5, MINE), call(6, THEIRS), call(7)), multi_send, operation=1)

        assert memos(data, transfer(6), transfer(5), transfer(7)) == [666, 1, None]

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(safe(many(call(5, MINE)), WALLET, 1), id="unknown code"),
            pytest.param(safe(many(call(5, MINE)), min(MULTI_SENDS), 0), id="not delegated to"),
            pytest.param(
                safe(many(call(5, MINE), operation=1), min(MULTI_SENDS), 1), id="delegated on"
            ),
            pytest.param(safe(many(call(5, MINE), cut=1), min(MULTI_SENDS), 1), id="cut off"),
            pytest.param(
                safe(many(call(5, MINE), call(5, MINE)), min(MULTI_SENDS), 1), id="called twice"
            ),
            pytest.param(
                safe(many(call(5, MINE), call(5)), min(MULTI_SENDS), 1), id="one without a memo"
            ),
            pytest.param(
                safe(many(call(5, MINE), *[call(6)] * CALLS_MAX), min(MULTI_SENDS), 1),
                id="too many to look at",
            ),
        ],
    )
    def test_leaves_open_what_a_multi_send_does_not_show(self, data):
        assert memos(data, transfer(5)) == [None]

    def test_leaves_open_which_of_equal_transfers_is_whose(self):
        data = safe(many(call(5, MINE), call(5, THEIRS)), min(MULTI_SENDS), 1)

        assert memos(data, transfer(5), transfer(5, nth=1)) == [None, None]

    @given(
        memo=st.sampled_from([b"", MINE]),
        padding=st.one_of(st.binary(max_size=96), st.just(THEIRS), st.just(call(5, THEIRS))),
        gap=st.one_of(st.binary(max_size=64), st.just(call(5, THEIRS))),
        behind=st.one_of(st.binary(max_size=96), st.just(THEIRS), st.just(call(5, THEIRS))),
        signatures=st.one_of(st.binary(max_size=130), st.just(call(5, THEIRS))),
        is_reversed=st.booleans(),
    )
    @pytest.mark.fault("W16")
    def test_w16_no_byte_that_is_not_signed_changes_the_match(self, memo, **carried):
        signed = call(5, memo)

        data = laid_out(signed, **carried)

        assert decode(SAFE_TYPES, data[4:], strict=False)[2] == signed
        assert memos(data, transfer(5)) == memos(safe(signed), transfer(5))


def bundle(*operations, form=PACKED, signature=b"s" * 65, beneficiary=USER):
    """Encode the call data of an EntryPoint: for each wallet the call of its operation."""
    gas = [bytes(32), 0, bytes(32)] if form == PACKED else [0] * 5
    packed_operations = [(w, 0, b"", data, *gas, b"", signature) for w, data in operations]
    return codec.selector(f"handleOps({form}[],address)") + encode(
        [f"{form}[]", "address"], [packed_operations, beneficiary]
    )


def laid_out_bundle(data, *, padding, gap, behind, signature, is_reversed):
    """Encode one operation with another layout: the EntryPoint reads the same arguments."""
    tails = {2: b"", 3: data, 7: b"", 8: signature}
    places, body = {}, gap
    for nth in sorted(tails, reverse=is_reversed):
        places[nth] = 9 * 32 + len(body)
        body += word(len(tails[nth])) + tails[nth] + padding
    fields = [codec.address_word(WALLET), *(word(places.get(nth, 0)) for nth in range(1, 9))]
    operations = word(1) + word(32 + len(gap)) + gap + b"".join(fields) + body
    head = word(2 * 32 + len(gap)) + codec.address_word(USER) + gap
    return codec.selector(f"handleOps({PACKED}[],address)") + head + operations + behind


def batch(*inner):
    calls = [(TOKEN, 0, data) for data in inner]
    return codec.selector(f"executeBatch({CALLS})") + encode([CALLS], [calls])


def form(signature, *values):
    types = signature[signature.index("(") + 1 : -1].split(",")
    return codec.selector(signature) + encode(types, values)


ORDER = call(5, MINE)
FORMS = {
    "execute": form("execute(address,uint256,bytes)", TOKEN, 0, ORDER),
    "execute_ncC": form("execute_ncC(address,uint256,bytes)", TOKEN, 0, ORDER),
    "operation": form("execute(address,uint256,bytes,uint8)", TOKEN, 0, ORDER, 0),
    "safe": form("executeUserOp(address,uint256,bytes,uint8)", TOKEN, 0, ORDER, 0),
    "safe, multi send": form(
        "executeUserOp(address,uint256,bytes,uint8)", min(MULTI_SENDS), 0, many(ORDER), 1
    ),
    "batch": batch(ORDER),
    "lists": form("executeBatch(address[],uint256[],bytes[])", [TOKEN], [0], [ORDER]),
    "no values": form("executeBatch(address[],uint256[],bytes[])", [TOKEN], [], [ORDER]),
    "two lists": form("executeBatch(address[],bytes[])", [TOKEN], [ORDER]),
    "7579 single": form(
        "execute(bytes32,bytes)", bytes(32), bytes.fromhex(TOKEN[2:]) + word(0) + ORDER
    ),
    "7579 batch": form(
        "execute(bytes32,bytes)", b"\1" + bytes(31), encode([CALLS], [[(TOKEN, 0, ORDER)]])
    ),
    "7821 batch": form(
        "execute(bytes32,bytes)",
        bytes.fromhex("01000000000078210001") + bytes(22),
        encode([CALLS, "bytes"], [[(TOKEN, 0, ORDER)], b""]),
    ),
}


class TestASmartAccount:
    @pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
    def test_is_called_in_these_forms(self, data):
        assert memos(bundle((WALLET, data)), transfer(5), to=ENTRY_POINT) == [1]

    @pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
    def test_that_its_own_key_calls_needs_no_entry_point(self, data):
        """An account that delegates to code (EIP-7702): its key signed the whole transaction."""
        transaction = {HASH: Transaction(WALLET, WALLET, 0, data)}

        [proven] = with_proven_memos([transfer(5)], TREASURY, transaction)

        assert memo_number(proven.memo) == 1

    @pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
    def test_a_call_of_an_unknown_sender_has_no_memo(self, data):
        assert memos(data, transfer(5)) == [None]

    @pytest.mark.parametrize("mode", ["ff" + "00" * 31, "fe" + "00" * 31, "01" + "ff" * 31])
    def test_an_unknown_form_of_delegation_has_no_memo(self, mode):
        data = form(
            "execute(bytes32,bytes)",
            bytes.fromhex(mode),
            bytes.fromhex(TOKEN[2:]) + word(0) + ORDER,
        )

        assert memos(bundle((WALLET, data)), transfer(5), to=ENTRY_POINT) == [None]


class TestInABundle:
    @pytest.mark.parametrize("form", [PACKED, UNPACKED])
    @pytest.mark.parametrize("entry_point", sorted(ENTRY_POINTS))
    def test_each_wallet_has_the_memo_that_it_signed_also_for_one_amount(self, form, entry_point):
        data = bundle(
            (WALLET, batch(call(5, encode_memo(1)))),
            (OTHER_WALLET, batch(call(5, encode_memo(2)), call(6, encode_memo(3)))),
            form=form,
        )

        theirs = [transfer(5, by=OTHER_WALLET), transfer(6, by=OTHER_WALLET)]

        assert memos(data, transfer(5), *theirs, to=entry_point) == [1, 2, 3]

    def test_the_memo_of_a_failed_operation_counts_for_no_other(self):
        data = bundle((WALLET, batch(call(5, MINE))), (OTHER_WALLET, b"pulled"))

        assert memos(data, transfer(5, by=OTHER_WALLET), to=ENTRY_POINT) == [None]

    @given(
        signature=st.one_of(st.binary(max_size=200), st.just(batch(call(5, THEIRS)))),
        behind=st.one_of(st.binary(max_size=200), st.just(batch(call(5, THEIRS)))),
        beneficiary=st.sampled_from([USER, WALLET, TREASURY]),
        signed=st.sampled_from([batch(call(5, MINE)), batch(call(5)), b"pulled"]),
    )
    @pytest.mark.fault("W16")
    def test_w16_no_byte_that_is_not_signed_changes_the_match(
        self, signature, behind, beneficiary, signed
    ):
        data = bundle((WALLET, signed), signature=signature, beneficiary=beneficiary) + behind

        expected = memos(bundle((WALLET, signed)), transfer(5), to=ENTRY_POINT)
        assert memos(data, transfer(5), to=ENTRY_POINT) == expected

    @given(
        padding=st.one_of(st.binary(max_size=96), st.just(batch(call(5, THEIRS)))),
        gap=st.one_of(st.binary(max_size=64), st.just(batch(call(5, THEIRS)))),
        behind=st.one_of(st.binary(max_size=96), st.just(batch(call(5, THEIRS)))),
        signature=st.one_of(st.binary(max_size=130), st.just(batch(call(5, THEIRS)))),
        is_reversed=st.booleans(),
        signed=st.sampled_from([batch(call(5, MINE)), batch(call(5)), b"pulled"]),
    )
    @pytest.mark.fault("W16")
    def test_w16_no_layout_of_a_bundle_changes_the_match(self, signed, **layout):
        data = laid_out_bundle(signed, **layout)

        operation = data[4 + 4 * 32 + 2 * len(layout["gap"]) :]  # the decoder is strict in lists
        assert decode(PACKED[1:-1].split(","), operation, strict=False)[3] == signed
        expected = memos(bundle((WALLET, signed)), transfer(5), to=ENTRY_POINT)
        assert memos(data, transfer(5), to=ENTRY_POINT) == expected

    def test_only_the_entry_point_can_call_it(self):
        """It might not check the wallet's signature."""
        data = bundle((WALLET, batch(call(5, MINE))))

        assert memos(data, transfer(5), to=OTHER_WALLET) == [None]

    def test_two_operations_of_one_wallet_leave_open_whose_memo_it_is(self):
        twice = [(WALLET, batch(call(5, encode_memo(n)))) for n in (1, 2)]

        assert memos(bundle(*twice), transfer(5), to=ENTRY_POINT) == [None]

    @given(st.data())
    def test_a_cut_bundle_has_its_own_memo_or_none_and_no_malformed_one_is_an_error(self, data):
        whole = bundle((WALLET, batch(call(5, MINE))))
        cut = data.draw(st.integers(min_value=0, max_value=len(whole)))
        noise = data.draw(st.binary(min_size=1, max_size=64))

        malformed = whole[:cut] + noise + whole[cut + len(noise) :]

        assert memos(whole[:cut], transfer(5), to=ENTRY_POINT) in ([None], [1])
        assert len(memos(malformed, transfer(5), to=ENTRY_POINT)) == 1
