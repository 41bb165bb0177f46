from __future__ import annotations

import pytest

from swap_settler.domain.witnesses import Witnesses, Word, weigh

HERE, ELSEWHERE = "0x" + "aa" * 32, "0x" + "bb" * 32
SAW = Word("saw", True, HERE, succeeded=False)
LAGS = Word("lags", True)
AWAY = Word("away", False)
PAID = Word("paid", True, HERE, succeeded=True)
MOVED = Word("moved", True, ELSEWHERE, succeeded=False)


def test_every_node_stands_where_its_word_puts_it() -> None:
    assert weigh([SAW, LAGS, AWAY, PAID, MOVED], block_hash=HERE) == Witnesses(
        agree=("saw",), unknown=("lags",), silent=("away",), deny=("paid", "moved")
    )


@pytest.mark.parametrize("words", [[SAW], [SAW, LAGS, AWAY], [SAW, SAW]])
def test_one_that_saw_it_is_enough_when_nobody_says_otherwise(words: list[Word]) -> None:
    assert weigh(words, block_hash=HERE).have_proven


@pytest.mark.parametrize("words", [[], [LAGS], [AWAY], [SAW, PAID], [SAW, SAW, MOVED]])
def test_one_that_says_otherwise_or_nobody_who_saw_it_is_no_proof(words: list[Word]) -> None:
    assert not weigh(words, block_hash=HERE).have_proven
