"""A guide shows its steps in a diagram of real messages, and all of its code is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from swap_contracts import topics
from tests.e2e.guides import GUIDES, LANGUAGES, blocks_of

ROOT = Path(__file__).parents[1]
MESSAGE = re.compile(r"[a-z]+(?:[.-][a-z]+)+\.v\d+")
# In a diagram a message has its version; a similar name without one is a misspelling.
ALIKE = re.compile(r"\b(?:deposit|payout|swap|inventory|deposit-target)\.[a-z]+(?!\.v\d|[a-z(])")
SECTION = re.compile(r"^##? ", re.M)
PAGES = [page for pages in GUIDES.values() for page in pages]
WITHOUT_DIAGRAM = ("claimable-balances",)
TOPICS = {topic.name for topic in vars(topics).values() if isinstance(topic, topics.Topic)}


class TestGuide:
    @pytest.mark.parametrize("page", [page for page in PAGES if page not in WITHOUT_DIAGRAM])
    def test_shows_real_messages(self, page: str) -> None:
        diagrams = [b.code for b in blocks_of(path_of(page)) if b.language == "mermaid"]

        assert diagrams
        for diagram in diagrams:
            assert diagram.startswith("sequenceDiagram")
            assert set(MESSAGE.findall(diagram)) <= TOPICS
            assert ALIKE.findall(diagram) == []
        assert any(MESSAGE.search(diagram) for diagram in diagrams)

    @pytest.mark.parametrize("page", PAGES)
    def test_has_code_and_all_of_it_is_run(self, page: str) -> None:
        code = [b for b in blocks_of(path_of(page)) if b.language in LANGUAGES]

        assert code
        assert [f"line {b.line}" for b in code if not b.is_run] == []

    @pytest.mark.parametrize("page", PAGES)
    def test_has_no_code_in_other_languages(self, page: str) -> None:
        languages = {b.language for b in blocks_of(path_of(page))}

        assert languages <= {"mermaid", "", *LANGUAGES}


@pytest.mark.parametrize("ending", ["Refunds", "Requotes", "Refuels", "Expiry"])
def test_each_ending_has_its_own_diagram_and_code_that_is_run(ending: str, tmp_path: Path) -> None:
    texts = [path_of(page).read_text() for page in GUIDES["endings"]]
    [section] = [one for text in texts for one in SECTION.split(text) if is_of(one, ending)]
    page = tmp_path / "section.md"
    page.write_text(section)

    blocks = list(blocks_of(page))

    [diagram] = [b.code for b in blocks if b.language == "mermaid"]
    assert MESSAGE.search(diagram)
    assert any("assert" in b.code for b in blocks if b.language == "python" and b.is_run)


@pytest.mark.parametrize("page", [*PAGES, "quickstart"])
def test_a_guide_has_no_unlimited_waits(page: str) -> None:
    for block in blocks_of(path_of(page)):
        if block.language in LANGUAGES:
            assert not re.search(r"^\s*(?:until|while)\b", block.code, re.M), f"line {block.line}"


def is_of(section: str, title: str) -> bool:
    return section.startswith(f"{title}\n")


def path_of(page: str) -> Path:
    return ROOT / f"docs/{page}.md"
