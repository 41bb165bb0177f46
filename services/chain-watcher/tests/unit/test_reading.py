"""Decoding of logs, field by field: sender, receiver, value and swap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from watch_factories import (
    DEPOSIT_ADDRESS,
    DEPOSITORY,
    FOREIGN_TOKEN,
    FUNDER,
    NETWORK,
    TREASURY,
    UNKNOWN_ADDRESS,
    USDC,
    USER,
    a_block,
    a_deposit,
    a_log,
    a_native_receipt,
    a_network,
    a_payout,
    a_policy,
    a_sweep,
    a_transfer,
    a_withdrawal,
)

from swap_chain_watcher.domain.movement_mapping import (
    MEMO_BYTES_MAX,
    SEQUENCE_NUMBER_MAX,
    movement_keys,
    senders,
    subjects,
    to_movement,
)
from swap_chain_watcher.domain.movements import Depth, Kind, Movement, Quarantine, movement_id
from swap_chain_watcher.domain.policy import Policy
from swap_chains import events
from swap_chains.events import BlockAdded, BlocksFinalized
from swap_domain.catalogue import NATIVE, Contracts

BLOCK = a_block(5)
POLICY = a_policy()


def movement(name: str, kind: Kind, **changes: Any) -> Movement:
    return Movement(
        **{
            "id": movement_id(NETWORK, a_log(name)),
            "network": NETWORK,
            "block": BLOCK,
            "kind": kind,
            "transaction_hash": a_log(name).transaction_hash,
            "token": USDC,
            "from_address": USER,
            "to_address": TREASURY,
            "base_units": 10,
        }
        | changes
    )


def publications(fact: events.Movement, *, targets: tuple[str, ...] = ()) -> Movement | None:
    return to_movement(BLOCK, fact, POLICY, targets)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (a_deposit("one"), movement("one", Kind.DEPOSITED, sequence_number=7)),
        (
            a_deposit("one", receiver=UNKNOWN_ADDRESS),
            movement(
                "one",
                Kind.DEPOSITED,
                to_address=UNKNOWN_ADDRESS,
                sequence_number=7,
                quarantine=Quarantine.FOREIGN_RECEIVER,
            ),
        ),
        (a_transfer("one"), movement("one", Kind.TOKEN_TRANSFER)),
        (
            a_transfer("one", memo=b"\xab", claimed_by=a_log("deposit")),
            movement(
                "one",
                Kind.TOKEN_TRANSFER,
                memo="0xab",
                claimed_by=movement_id(NETWORK, a_log("deposit")),
            ),
        ),
        (
            a_transfer("one", token=FOREIGN_TOKEN),
            movement(
                "one",
                Kind.TOKEN_TRANSFER,
                token=FOREIGN_TOKEN,
                quarantine=Quarantine.UNKNOWN_TOKEN,
            ),
        ),
        (a_native_receipt("one"), movement("one", Kind.NATIVE_RECEIVED, token=NATIVE)),
        (
            a_sweep("one"),
            movement("one", Kind.SWEPT, from_address=DEPOSIT_ADDRESS, is_internal=True),
        ),
        (a_sweep("one", token=FOREIGN_TOKEN), None),
        (
            a_withdrawal("one"),
            movement(
                "one",
                Kind.WITHDRAWN,
                from_address=TREASURY,
                to_address=USER,
                is_internal=True,
            ),
        ),
        (
            a_withdrawal("one", token=FOREIGN_TOKEN),
            movement(
                "one",
                Kind.WITHDRAWN,
                token=FOREIGN_TOKEN,
                from_address=TREASURY,
                to_address=USER,
                is_internal=True,
                quarantine=Quarantine.UNKNOWN_TOKEN,
            ),
        ),
        (
            a_payout("one"),
            movement("one", Kind.PAID, from_address=TREASURY, to_address=USER, paid_id=99),
        ),
        (
            a_payout("one", base_units=0),
            movement(
                "one", Kind.PAID, from_address=TREASURY, to_address=USER, paid_id=99, base_units=0
            ),
        ),
        (a_deposit("one", 0), None),
        (a_sweep("one", 0), None),
        (a_withdrawal("one", 0), None),
        (a_transfer("one", 1), movement("one", Kind.TOKEN_TRANSFER, base_units=1)),
    ],
)
def test_a_log_becomes_this_movement(fact: events.Movement, expected: Movement | None) -> None:
    assert publications(fact) == expected


@pytest.mark.parametrize(
    ("key", "number"),
    [(1, 1), (0, None), (SEQUENCE_NUMBER_MAX, SEQUENCE_NUMBER_MAX), (2**53, None)],
)
def test_a_key_names_a_swap_up_to_the_largest_number(key: int, number: int | None) -> None:
    read_as = publications(a_deposit("one", swap_key=f"0x{key:064x}"))

    assert read_as is not None
    assert read_as.sequence_number == number


@pytest.mark.parametrize(
    ("length", "is_memo"), [(0, False), (1, True), (MEMO_BYTES_MAX, True), (65, False)]
)
def test_call_data_is_a_memo_up_to_64_bytes(length: int, *, is_memo: bool) -> None:
    read_as = publications(a_native_receipt("one", memo=b"\x01" * length))

    assert read_as is not None
    assert read_as.memo == (f"0x{'01' * length}" if is_memo else None)


@pytest.mark.parametrize(
    ("changes", "is_internal"),
    [
        ({"from_address": TREASURY.lower()}, True),
        ({"from_address": DEPOSITORY}, True),
        ({"from_address": DEPOSIT_ADDRESS}, True),
        ({"from_address": USER}, False),
        ({"from_address": TREASURY, "to_address": DEPOSIT_ADDRESS}, False),
        ({"from_address": TREASURY, "to_address": TREASURY.lower()}, True),
        ({"from_address": TREASURY, "claimed_by": a_log("deposit")}, False),
    ],
)
def test_transfers_between_our_own_addresses_are_internal(
    changes: dict[str, Any], *, is_internal: bool
) -> None:
    for fact in (a_transfer("one", **changes), a_native_receipt("one", **changes)):
        read_as = publications(fact, targets=(DEPOSIT_ADDRESS.lower(),))

        assert read_as is not None
        assert read_as.is_internal is is_internal


def test_a_batch_names_its_subjects_its_movements_and_who_sent_value() -> None:
    claimed = a_transfer("claimed", from_address=UNKNOWN_ADDRESS, claimed_by=a_log("deposit"))
    chain_events = [
        BlocksFinalized(a_block(1)),
        BlockAdded(a_block(5), (a_deposit("deposit"), claimed, a_payout("paid", 99))),
        BlockAdded(a_block(6), (a_native_receipt("coins", from_address=FUNDER.upper()),)),
    ]
    ids = {name: movement_id(NETWORK, a_log(name)) for name in ("deposit", "claimed", "coins")}

    assert subjects(NETWORK, chain_events) == {*ids.values(), 99}
    assert movement_keys(NETWORK, chain_events) == {
        (a_block(5).hash, ids["deposit"]),
        (a_block(5).hash, ids["claimed"]),
        (a_block(5).hash, movement_id(NETWORK, a_log("paid"))),
        (a_block(6).hash, ids["coins"]),
    }
    assert senders(chain_events) == {FUNDER.upper().lower()}
    assert senders([BlockAdded(BLOCK, (a_transfer("one"),))]) == {USER.lower()}


class TestPolicy:
    @pytest.mark.parametrize(
        ("fact", "adds_to_inflow"),
        [
            (a_deposit("one"), True),
            (a_transfer("one"), True),
            (a_transfer("one", from_address=FUNDER.upper().replace("X", "x")), False),
            (a_transfer("one", claimed_by=a_log("deposit")), False),
            (a_deposit("one", receiver=UNKNOWN_ADDRESS), False),
            (a_payout("one"), False),
            (a_sweep("one"), False),
            (a_withdrawal("one"), False),
        ],
    )
    def test_only_receipts_from_users_count_as_inflow(
        self, fact: events.Movement, *, adds_to_inflow: bool
    ) -> None:
        read_as = publications(fact)

        assert read_as is not None
        assert POLICY.adds_to_inflow(read_as) is adds_to_inflow
        assert POLICY.adds_to_inflow(
            replace(movement("rise", Kind.BALANCE_ROSE), from_address=None)
        )

    @pytest.mark.parametrize(
        ("fact", "is_in_log_scope"),
        [
            (a_deposit("one"), True),
            (a_transfer("one"), True),
            (a_transfer("one", to_address=DEPOSIT_ADDRESS), True),
            (a_transfer("one", to_address=UNKNOWN_ADDRESS), False),
            (a_transfer("one", token=FOREIGN_TOKEN), False),
            (a_native_receipt("one"), True),
            (a_native_receipt("one", to_address=DEPOSIT_ADDRESS), False),
            (a_payout("one"), True),
            (a_withdrawal("one"), True),
            (a_sweep("one"), True),
        ],
    )
    def test_logs_of_our_addresses_are_in_scope(
        self, fact: events.Movement, *, is_in_log_scope: bool
    ) -> None:
        read_as = publications(fact)
        assert read_as is not None

        messages_about = POLICY.is_in_log_scope(read_as, {DEPOSIT_ADDRESS.lower()})

        assert messages_about is is_in_log_scope
        former = replace(read_as, from_address=UNKNOWN_ADDRESS)
        if read_as.kind in (Kind.PAID, Kind.WITHDRAWN):
            assert not POLICY.is_in_log_scope(former)
            assert not POLICY.is_in_log_scope(replace(read_as, from_address=None))

    def test_without_a_depository_or_addresses_their_logs_are_not_in_scope(self) -> None:
        bare = Policy(
            a_network(
                contracts=Contracts(treasury=TREASURY, depository=None, deposit_addresses=None)
            )
        )

        assert not bare.is_in_log_scope(movement("one", Kind.DEPOSITED))
        assert not bare.is_in_log_scope(movement("one", Kind.SWEPT))
        assert not bare.is_in_log_scope(movement("one", Kind.BALANCE_ROSE))

    @pytest.mark.parametrize(
        ("confirmations", "finality", "depth"),
        [
            (3, 64, Depth(3, is_finality=False)),
            (0, 64, Depth(1, is_finality=False)),
            (None, 64, Depth(64, is_finality=True)),
            (None, 0, Depth(1, is_finality=True)),
        ],
    )
    def test_a_payout_is_final_by_its_number_or_by_the_chain(
        self, confirmations: int | None, finality: int, depth: Depth
    ) -> None:
        policy = a_policy(payout_confirmations=confirmations, finality_blocks=finality)

        assert policy.payout_depth() == depth
        assert policy.depth(movement("one", Kind.PAID), 0, unverified_base_units=0) == depth

    def test_a_deposit_of_an_unknown_token_waits_for_the_chain(self) -> None:
        assert POLICY.deposit_depth(FOREIGN_TOKEN, 1) == Depth(4, is_finality=True)
        assert POLICY.deposit_depth(USDC.upper().replace("X", "x"), 1).confirmations == 2
