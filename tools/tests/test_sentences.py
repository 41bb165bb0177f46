"""Sentences of pages, docstrings and comments are short: what ends one, what is one word."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.check_words import SENTENCE_WORDS_MAX, blocks, long_sentences, prose, wordy

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


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f'"""{LONGEST}more."""', id="docstring of a module"),
        pytest.param(f'class A:\n    """{LONGEST}\n    more."""', id="docstring of a class"),
        pytest.param(f'async def a():\n    """{LONGEST}more."""', id="docstring of a function"),
        pytest.param(f'"""A.\n\n:param a: {LONGEST}\n    more.\n"""', id="field"),
        pytest.param(f'"""A.\n\n- {LONGEST}\n  more.\n"""', id="item of a list"),
        pytest.param(f"# {LONGEST}\n# more", id="comment of two lines"),
        pytest.param(f"a = 1  # {LONGEST}more", id="comment beside code"),
    ],
)
def test_sentence_of_a_module_is_found(source: str) -> None:
    assert len(list(long_sentences(prose(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f'a = """{LONGEST}more."""', id="string"),
        pytest.param(f"a = 1  # {LONGEST}\nb = 2  # more", id="comments beside two lines"),
        pytest.param(f"# {LONGEST}\n\n# more", id="comments with an empty line between"),
        pytest.param(f"# {LONGEST}\n#\n# more", id="comment with an empty line"),
        pytest.param(f"# {LONGEST}\nif a:\n    # more\n    b = 1", id="comments of two depths"),
        pytest.param(f'"""{LONGEST}"""\n# more', id="docstring and comment"),
        pytest.param(f'"""{LONGEST}\n:param a: more."""', id="field after a text"),
        pytest.param(
            f'"""A.\n\n:raises A: {LONGEST.removeprefix("word ")}\n:return: more."""', id="fields"
        ),
        pytest.param(f'"""A::\n\n    {LONGEST}more\n\n    more\n"""', id="literal block"),
        pytest.param(f'"""A.\n\n    {LONGEST}more\n"""', id="indented block"),
        pytest.param(f'"""A.\n\na  {LONGEST}\nb  more\n"""', id="table"),
    ],
)
def test_what_is_no_sentence_of_a_module(source: str) -> None:
    assert list(long_sentences(prose(source))) == []


def test_field_of_a_docstring_is_one_word() -> None:
    others = "word " * (SENTENCE_WORDS_MAX - 1)

    assert list(long_sentences(prose(f'""":param int a: {others.strip()}."""'))) == []
    assert len(list(long_sentences(prose(f'""":param int a: {others}more."""')))) == 1


def test_text_after_an_example_is_read() -> None:
    source = f'"""A::\n\n    more\n\n{LONGEST}more.\n"""'

    assert len(list(long_sentences(prose(source)))) == 1


def test_finding_names_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Short.\n\n{LONGEST}more.\n")

    [finding] = wordy([page])

    assert finding.startswith(f"{page}: more than {SENTENCE_WORDS_MAX} words in a sentence: word ")


def test_finding_names_the_module(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(f"A = 1\n# {LONGEST}more.\n")

    [finding] = wordy([module])

    assert finding.startswith(
        f"{module}: more than {SENTENCE_WORDS_MAX} words in a sentence: word "
    )
