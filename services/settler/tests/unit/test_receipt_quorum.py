from __future__ import annotations

from dataclasses import replace

import pytest

from swap_settler.paying.decide.receipt_quorum import NodeReport, ReceiptQuorum, count_votes

HERE, ELSEWHERE = "0x" + "aa" * 32, "0x" + "bb" * 32
SAW = NodeReport("saw", True, HERE, succeeded=False)
LAGS = NodeReport("lags", True)
AWAY = NodeReport("away", False)
PAID = NodeReport("paid", True, HERE, succeeded=True)
MOVED = NodeReport("moved", True, ELSEWHERE, succeeded=False)


OF_ONE = [NodeReport(f"{n}:same", True, HERE, succeeded=False, provider="same") for n in range(2)]


def test_every_node_has_the_position_that_it_reports() -> None:
    assert count_votes([SAW, LAGS, AWAY, PAID, MOVED], block_hash=HERE) == ReceiptQuorum(
        agree=("saw",),
        unknown=("lags",),
        silent=("away",),
        deny=("paid", "moved"),
        providers_agreeing=1,
        providers_required=2,
    )


@pytest.mark.parametrize("reports", [[SAW], OF_ONE, [SAW, replace(SAW, node="too"), LAGS, AWAY]])
def test_two_providers_that_saw_it_are_enough_or_the_only_one(reports: list[NodeReport]) -> None:
    assert count_votes(reports, block_hash=HERE).is_proven


@pytest.mark.parametrize(
    "reports",
    [
        [],
        [LAGS],
        [AWAY],
        [SAW, PAID],
        [SAW, replace(SAW, node="too"), MOVED],
        [SAW, LAGS],
        [SAW, AWAY],
        [*OF_ONE, AWAY],
    ],
)
@pytest.mark.fault("S12")
def test_s12_report_of_one_of_two_providers_is_no_proof(reports: list[NodeReport]) -> None:
    assert not count_votes(reports, block_hash=HERE).is_proven
