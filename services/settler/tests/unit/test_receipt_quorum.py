from __future__ import annotations

from dataclasses import replace

import pytest

from services.settler.tests.factories import NOON
from swap_chains.events import Block
from swap_chains.ports import NodeReceipt, Receipt
from swap_settler.paying.decide.receipt_quorum import ReceiptQuorum, count_votes

HERE, ELSEWHERE = "0x" + "aa" * 32, "0x" + "bb" * 32


def a_report(
    node: str, block_hash: str | None = None, *, succeeded: bool = False, provider: str = ""
) -> NodeReceipt:
    """Return a node's answer: a receipt in this block, or none."""
    if block_hash is None:
        return NodeReceipt(node, True, None, provider)
    block = Block(7, block_hash, "0x" + "cc" * 32, NOON)
    return NodeReceipt(node, True, Receipt(block, succeeded, 21_000, 1), provider)


SAW = a_report("saw", HERE)
LAGS = a_report("lags")
AWAY = NodeReceipt("away", False, None)
PAID = a_report("paid", HERE, succeeded=True)
MOVED = a_report("moved", ELSEWHERE)


OF_ONE = [a_report(f"{n}:same", HERE, provider="same") for n in range(2)]


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
def test_two_providers_that_saw_it_are_enough_or_the_only_one(reports: list[NodeReceipt]) -> None:
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
def test_s12_report_of_one_of_two_providers_is_no_proof(reports: list[NodeReceipt]) -> None:
    assert not count_votes(reports, block_hash=HERE).is_proven
