"""The senders of coins to an address, by the calls that a transaction's signers have signed."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode

from libs.chains.tests.unit.test_wallet_calls import ENTRY_POINT, PACKED, SAFE_TYPES, ZERO
from swap_chains.evm import codec
from swap_chains.evm.wallet_calls import (
    MULTI_SEND,
    MULTI_SENDS,
    SAFE_EXECUTE,
    Transaction,
    coins_sent,
)

USER, WALLET, OTHER, ADDRESS = ("0x" + byte * 20 for byte in ("05", "3a", "3b", "d1"))


def safe_order(to: str, value: int, data: bytes = b"", operation: int = 0) -> bytes:
    return SAFE_EXECUTE + encode(
        SAFE_TYPES, (to, value, data, operation, 0, 0, 0, ZERO, ZERO, b"s" * 65)
    )


def packed(to: str, value: int) -> bytes:
    return b"\0" + bytes.fromhex(to[2:]) + value.to_bytes(32, "big") + bytes(32)


def bundle(*operations: tuple[str, bytes]) -> bytes:
    ops = [(o, 0, b"", d, bytes(32), 0, bytes(32), b"", b"") for o, d in operations]
    types = (f"{PACKED}[]", "address")
    return codec.selector(f"handleOps({types[0]},address)") + encode(types, (ops, USER))


def execute(to: str, value: int) -> bytes:
    arguments = encode(("address", "uint256", "bytes"), (to, value, b""))
    return codec.selector("execute(address,uint256,bytes)") + arguments


BOTH = MULTI_SEND + encode(["bytes"], [packed(ADDRESS, 3) + packed(OTHER, 9) + packed(ADDRESS, 4)])


@pytest.mark.parametrize(
    ("transaction", "expected"),
    [
        pytest.param(Transaction(USER, ADDRESS, 5, b""), {USER: 5}, id="a transfer"),
        pytest.param(Transaction(USER, ADDRESS, 0, b""), {}, id="nothing"),
        pytest.param(Transaction(USER, OTHER, 5, b""), {}, id="elsewhere"),
        pytest.param(Transaction(USER, None, 5, b""), {}, id="a new contract"),
        pytest.param(
            Transaction(USER, WALLET, 0, safe_order(ADDRESS, 5)), {WALLET: 5}, id="a Safe"
        ),
        pytest.param(
            Transaction(USER, WALLET, 0, safe_order(min(MULTI_SENDS), 0, BOTH, 1)),
            {WALLET: 7},
            id="a Safe by MultiSend",
        ),
        pytest.param(
            Transaction(USER, ENTRY_POINT, 0, bundle((OTHER, b""), (WALLET, execute(ADDRESS, 5)))),
            {WALLET: 5},
            id="an operation",
        ),
        pytest.param(
            Transaction(USER, ENTRY_POINT, 0, bundle((WALLET, execute(ADDRESS, 5)))[:-200]),
            {},
            id="a broken bundle",
        ),
        pytest.param(
            Transaction(USER, OTHER, 5, execute(ADDRESS, 5)), {}, id="an unknown contract"
        ),
    ],
)
def test_only_known_ways_of_sending_count(
    transaction: Transaction, expected: dict[str, int]
) -> None:
    assert coins_sent(transaction, ADDRESS) == expected
