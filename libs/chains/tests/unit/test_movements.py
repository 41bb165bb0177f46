"""The claims of transactions with more than one deposit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swap_chains.errors import InconsistentAnswer
from swap_chains.events import Deposited, NativeReceived, TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.movements import Log, LogScope, to_movements

DEPOSITORY, TREASURY, TOKEN, OTHER_TOKEN, USER = (
    "0x" + d * 20 for d in ("d1", "7e", "70", "71", "05")
)
HASH, OTHER_HASH = "0x" + "01" * 32, "0x" + "02" * 32
FOLLOWED = LogScope.of(DEPOSITORY, TREASURY, [TOKEN, OTHER_TOKEN], set())


def log(address, topics, data, transaction_hash=HASH):
    return Log(address, tuple(topics), "0x" + data.hex(), 1, "0x" + "b1" * 32, transaction_hash, 0)


def transfer(units, token=TOKEN):
    topics = [codec.TRANSFER, codec.address_topic(USER), codec.address_topic(TREASURY)]
    return log(token, topics, codec.uint_word(units))


def native(units, sender=DEPOSITORY):
    data = b"".join(map(codec.uint_word, (units, 64, 0)))
    return log(TREASURY, [codec.NATIVE_RECEIVED, codec.address_topic(sender)], data)


def deposited(units, token=TOKEN, receiver=TREASURY):
    topics = [codec.DEPOSITED, codec.depository_id(1)]
    topics += [codec.address_topic(token), codec.address_topic(receiver)]
    return log(DEPOSITORY, topics, codec.uint_word(units))


def movements(*logs):
    return to_movements("0:node", FOLLOWED, logs, {HASH: USER, OTHER_HASH: USER})


def claims(*logs):
    """Return which logs are claimed, by the index of the log that claims them."""
    found = movements(*logs)
    deposits = {m.id: place for place, m in enumerate(found) if isinstance(m, Deposited)}
    return [
        deposits.get(m.claimed_by) for m in found if isinstance(m, TokenTransfer | NativeReceived)
    ]


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        pytest.param([transfer(5), deposited(5)], [1], id="one deposit"),
        pytest.param([transfer(5), transfer(5), deposited(5)], [None, 2], id="a transfer before"),
        pytest.param([transfer(5), deposited(5), transfer(5)], [1, None], id="a transfer after"),
        pytest.param(
            [transfer(5), deposited(5), transfer(6), deposited(6)], [1, 3], id="two deposits"
        ),
        pytest.param([transfer(50), transfer(10), deposited(60)], [2, 2], id="a hook's extra"),
        pytest.param([transfer(50), deposited(49)], [1], id="less arrived than was said"),
        pytest.param([transfer(5, OTHER_TOKEN), deposited(5)], [None], id="another token"),
        pytest.param([transfer(5), deposited(5, receiver=USER)], [None], id="another receiver"),
        pytest.param([native(5), deposited(5, codec.ZERO_ADDRESS)], [1], id="native money"),
        pytest.param(
            [native(5, USER), native(5), deposited(5, codec.ZERO_ADDRESS)],
            [None, 2],
            id="native money of somebody else before",
        ),
    ],
)
def test_a_deposit_claims_what_it_caused_and_no_more(logs, expected):
    assert claims(*logs) == expected


def test_claims_do_not_reach_into_another_transaction():
    elsewhere = replace(transfer(5), transaction_hash=OTHER_HASH)

    assert claims(elsewhere, deposited(5)) == [None]


def test_equal_logs_of_one_transaction_are_counted():
    first, second, third = movements(transfer(5), transfer(5), transfer(6))

    assert [first.id.nth, second.id.nth, third.id.nth] == [0, 1, 0]
    assert first.id.fingerprint == second.id.fingerprint != third.id.fingerprint


def test_money_of_the_depository_without_its_log_is_rejected():
    with pytest.raises(InconsistentAnswer):
        movements(native(5))


def test_only_the_configured_emitters_are_wanted():
    receivers = FOLLOWED.receivers()
    fake_depository = replace(deposited(5), address="0x" + "d2" * 20)
    fake_token = replace(transfer(5), address="0x" + "72" * 20)
    paid_by_the_depository = replace(native(5), address=DEPOSITORY)
    an_nft = replace(transfer(5), topics=(*transfer(5).topics, "0x" + "00" * 32))

    assert FOLLOWED.includes(deposited(5), receivers)
    assert FOLLOWED.includes(transfer(5), receivers)
    for log_ in (fake_depository, fake_token, paid_by_the_depository, an_nft):
        assert not FOLLOWED.includes(log_, receivers)
