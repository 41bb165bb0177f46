from __future__ import annotations

from dataclasses import replace

import pytest

from swap_settler.domain.witnesses import Witnesses, Word, weigh

HERE, ELSEWHERE = "0x" + "aa" * 32, "0x" + "bb" * 32
SAW = Word("saw", True, HERE, succeeded=False)
LAGS = Word("lags", True)
AWAY = Word("away", False)
PAID = Word("paid", True, HERE, succeeded=True)
MOVED = Word("moved", True, ELSEWHERE, succeeded=False)


OF_ONE = [Word(f"{n}:same", True, HERE, succeeded=False, provider="same") for n in range(2)]


def test_every_node_stands_where_its_word_puts_it() -> None:
    assert weigh([SAW, LAGS, AWAY, PAID, MOVED], block_hash=HERE) == Witnesses(
        agree=("saw",),
        unknown=("lags",),
        silent=("away",),
        deny=("paid", "moved"),
        providers_agreeing=1,
        providers_required=2,
    )


@pytest.mark.parametrize("words", [[SAW], OF_ONE, [SAW, replace(SAW, node="too"), LAGS, AWAY]])
def test_two_providers_that_saw_it_are_enough_or_the_only_one(words: list[Word]) -> None:
    assert weigh(words, block_hash=HERE).have_proven


@pytest.mark.parametrize(
    "words",
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
def test_s12_one_of_two_providers_alone_is_no_proof(words: list[Word]) -> None:
    assert not weigh(words, block_hash=HERE).have_proven
