"""Sentences of pages are short: what ends one, and what counts as one word."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.check_words import SENTENCE_WORDS_MAX, blocks, long_sentences, wordy_pages

LONGEST = "word " * SENTENCE_WORDS_MAX


def test_sentence_of_the_most_words_passes_and_a_longer_one_is_named() -> None:
    assert list(long_sentences(f"{LONGEST.strip()}.")) == []
    assert list(long_sentences(f"{LONGEST}more.")) == [f"{LONGEST}more."]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(f"{LONGEST.strip()}. And more.", id="full stop"),
        pytest.param(f"{LONGEST.strip()}? And more.", id="question mark"),
        pytest.param(f"({LONGEST.strip()}.) And more.", id="closing bracket"),
        pytest.param(f"{LONGEST}\n\nAnd more", id="paragraph"),
        pytest.param(f"# {LONGEST}\nAnd more", id="heading"),
        pytest.param(f"- {LONGEST}\n- And more", id="list item"),
        pytest.param(f"{LONGEST}\n1. And more", id="numbered item"),
        pytest.param(f"| {LONGEST} | And more |", id="cell"),
        pytest.param(f"| {LONGEST} |\n| And more |", id="row"),
        pytest.param(f"```\n{LONGEST}and more\n```", id="fenced code"),
        pytest.param(f"<!-- {LONGEST}\nand more -->", id="comment"),
    ],
)
def test_what_ends_a_sentence_or_is_none(page: str) -> None:
    assert list(long_sentences(page)) == []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(f"{LONGEST}\nmore", id="line"),
        pytest.param(f"- {LONGEST}\n  more", id="line of an item"),
        pytest.param(f"> {LONGEST}\n> more", id="line of a quotation"),
        pytest.param(f"{LONGEST}1.5", id="point in a number"),
        pytest.param(f"{LONGEST}; more", id="semicolon"),
        pytest.param(f"{LONGEST}`more. Code`", id="full stop in code"),
    ],
)
def test_what_ends_no_sentence(page: str) -> None:
    assert len(list(long_sentences(page))) == 1


@pytest.mark.parametrize(
    "one",
    [
        pytest.param("`some inline code`", id="code"),
        pytest.param("`some\ncode`", id="code on two lines"),
        pytest.param("[a long link](to/a/page.md#here)", id="link"),
        pytest.param("[`code` in a link](page.md)", id="link with code"),
        pytest.param("![a picture of it](picture.webp)", id="picture"),
        pytest.param("https://example.com/a/page", id="address"),
        pytest.param("`a`, `b` and `c`", id="list of names"),
        pytest.param("word → /", id="signs"),
    ],
)
def test_what_counts_as_one_word(one: str) -> None:
    others = "word " * (SENTENCE_WORDS_MAX - 1)

    assert list(long_sentences(f"{others}{one}.")) == []
    assert len(list(long_sentences(f"{others}{one} more."))) == 1


def test_cells_are_split_at_bars_that_are_not_escaped() -> None:
    assert [cell.strip() for cell in blocks("| a \\| b | c |") if cell.strip()] == ["a \\| b", "c"]


def test_finding_names_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Short.\n\n{LONGEST}more.\n")

    [finding] = wordy_pages([page])

    assert finding.startswith(f"{page}: more than {SENTENCE_WORDS_MAX} words in a sentence: word ")
