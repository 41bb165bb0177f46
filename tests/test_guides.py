"""A guide shows its way in a diagram of real messages, and has no code that is never run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from swap_contracts import topics
from tests.e2e.guides import GUIDES, LANGUAGES, blocks_of

ROOT = Path(__file__).parents[1]
MESSAGE = re.compile(r"[a-z]+(?:[.-][a-z]+)+\.v\d+")
# In a diagram a message has its version: a name like one without it is a misspelt one.
ALIKE = re.compile(r"\b(?:deposit|payout|swap|inventory|deposit-target)\.[a-z]+(?!\.v\d|[a-z(])")
TOPICS = {topic.name for topic in vars(topics).values() if isinstance(topic, topics.Topic)}


@pytest.mark.parametrize("guide", GUIDES)
class TestGuide:
    def test_shows_real_messages(self, guide: str) -> None:
        diagrams = [b.code for b in blocks_of(page_of(guide)) if b.language == "mermaid"]

        assert diagrams
        for diagram in diagrams:
            assert diagram.startswith("sequenceDiagram")
            assert set(MESSAGE.findall(diagram)) <= TOPICS
            assert ALIKE.findall(diagram) == []
        assert any(MESSAGE.search(diagram) for diagram in diagrams)

    def test_has_code_and_all_of_it_is_run(self, guide: str) -> None:
        code = [b for b in blocks_of(page_of(guide)) if b.language in LANGUAGES]

        assert code
        assert [f"line {b.line}" for b in code if not b.is_run] == []

    def test_has_no_code_in_other_languages(self, guide: str) -> None:
        languages = {b.language for b in blocks_of(page_of(guide))}

        assert languages <= {"mermaid", "", *LANGUAGES}


@pytest.mark.parametrize("guide", [*GUIDES, "quickstart"])
def test_a_guide_waits_for_nothing_for_ever(guide: str) -> None:
    for block in blocks_of(page_of(guide)):
        if block.language in LANGUAGES:
            assert not re.search(r"^\s*(?:until|while)\b", block.code, re.M), f"line {block.line}"


def page_of(guide: str) -> Path:
    return ROOT / f"docs/{guide}.md"
