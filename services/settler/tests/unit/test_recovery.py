"""Detection of a restored database, and the proof that ends a recovery."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.settler.tests.factories import ETHEREUM, MINUTE, NOON, POLYGON
from swap_settler.recovery.decide.recovery import (
    Incarnation,
    NetworkProof,
    Proofs,
    SignerProof,
    Start,
    classify_start,
    restore_reason,
)

LAST = Incarnation(system_identifier=11, timeline=1, database_id=22, table_id=33, booted_at=NOON)
BOOTED = replace(LAST, booted_at=NOON + MINUTE)
FAILED_OVER = replace(BOOTED, timeline=2)
COPIES = [
    replace(BOOTED, system_identifier=12),
    replace(BOOTED, database_id=23),
    replace(BOOTED, table_id=34),
]


class TestAStart:
    @pytest.mark.parametrize(
        ("last", "now", "has_history", "start"),
        [
            (None, LAST, False, Start.FIRST),
            (None, LAST, True, Start.RESTORED),
            (LAST, LAST, True, Start.SAME),
            (LAST, LAST, False, Start.SAME),
            (LAST, BOOTED, True, Start.RESTARTED),
            (LAST, FAILED_OVER, True, Start.RESTORED),
            (LAST, FAILED_OVER, False, Start.RESTARTED),
            *[(LAST, copy, True, Start.RESTORED) for copy in COPIES],
            *[(LAST, copy, False, Start.RESTARTED) for copy in COPIES],
        ],
    )
    def test_with_a_history_on_another_database_is_a_restore(
        self, last: Incarnation | None, now: Incarnation, start: Start, *, has_history: bool
    ) -> None:
        assert classify_start(last, now, has_history=has_history) is start

    def test_after_a_lossless_failover_is_a_restart_of_the_same_copy_only(self) -> None:
        copy = replace(COPIES[0], timeline=2)
        starts = [
            classify_start(LAST, now, has_history=True, failover_is_lossless=True)
            for now in (FAILED_OVER, copy)
        ]

        assert starts == [Start.RESTARTED, Start.RESTORED]


class TestTheReason:
    def test_names_all_that_changed(self) -> None:
        now = Incarnation(12, 2, 23, 34, booted_at=NOON + MINUTE)

        assert restore_reason(LAST, now) == (
            "the database was restored or failed over: system_identifier 11 became 12, "
            "timeline 1 became 2, database_id 22 became 23, table_id 33 became 34"
        )

    def test_names_only_the_changed_timeline(self) -> None:
        assert restore_reason(LAST, FAILED_OVER) == (
            "the database was restored or failed over: timeline 1 became 2"
        )

    def test_without_an_incarnation_is_the_history(self) -> None:
        assert restore_reason(None, LAST) == (
            "the database has a history and no incarnation: it may be an older backup"
        )


READ = NetworkProof(ETHEREUM, head=100, read=100)
CLOSED = SignerProof(
    ETHEREUM,
    "0x1",
    is_halted=False,
    end_nonce=5,
    open_nonces=0,
    is_far_enough=True,
    final_number=100,
)


class TestProofs:
    @pytest.mark.parametrize(
        ("network", "signer", "are_complete"),
        [
            (READ, CLOSED, True),
            (replace(READ, read=99), CLOSED, False),
            (replace(READ, read=None), CLOSED, False),
            (replace(READ, head=None), CLOSED, False),
            (replace(READ, read=101), replace(CLOSED, final_number=101), True),
            (READ, replace(CLOSED, final_number=101), False),  # read, but not up to the close
            (READ, replace(CLOSED, final_number=None), False),
            (READ, replace(CLOSED, end_nonce=None), False),
            (READ, replace(CLOSED, end_nonce=0), True),
            (READ, replace(CLOSED, open_nonces=1), False),
            (READ, replace(CLOSED, is_far_enough=False), False),
            (READ, replace(CLOSED, network=POLYGON, final_number=500), True),
        ],
    )
    def test_are_complete_when_each_network_is_read_to_where_its_signers_were_closed(
        self, network: NetworkProof, signer: SignerProof, *, are_complete: bool
    ) -> None:
        assert Proofs((network,), (signer,)).are_complete is are_complete

    @pytest.mark.parametrize("order", [(90, 101), (101, 90)])
    def test_count_the_last_of_several_signers(self, order: tuple[int, int]) -> None:
        signers = tuple(replace(CLOSED, final_number=number) for number in order)

        assert not Proofs((READ,), signers).are_complete

    def test_need_every_network_and_every_signer(self) -> None:
        unread, is_open = replace(READ, read=1), replace(CLOSED, open_nonces=1)

        assert not Proofs((READ, unread), (CLOSED,)).are_complete
        assert not Proofs((READ,), (CLOSED, is_open)).are_complete
        assert Proofs((READ,), ()).are_complete
