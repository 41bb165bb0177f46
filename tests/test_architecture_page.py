"""docs/architecture.md links to every handler, and docs/structure.md names every folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "architecture.md"
FOLDERS: Final = ROOT / "docs" / "structure.md"
UNNAMED: Final = ("__init__.py", "py.typed", "__pycache__")
LINK: Final = re.compile(r"\]\(([^)#]+)\)")
DEFINED: Final = r"^(?:    )?(?:(?:async )?def |class )?%s\b"  # `name`, or `name: Final = …`
LINK_WITH_NAMES: Final = re.compile(r"\]\(([^)#]+)\) \((`[^)]+)\)")


def test_every_handler_of_a_topic_is_linked() -> None:
    linked = {(PAGE.parent / link).resolve() for link in LINK.findall(PAGE.read_text())}
    handlers = {
        path for path in ROOT.glob("services/*/src/**/handlers/*.py") if path.name != "__init__.py"
    }
    assert handlers
    assert handlers <= linked


def test_every_name_beside_a_link_is_in_that_file() -> None:
    named = [
        (link, name)
        for link, names in LINK_WITH_NAMES.findall(PAGE.read_text())
        for name in re.findall(r"`(\w+)`", names)
    ]
    assert named
    missing = [
        (link, name)
        for link, name in named
        if not re.search(DEFINED % name, (PAGE.parent / link).read_text(), re.MULTILINE)
    ]
    assert missing == []


@pytest.mark.parametrize("package", ["swap_api", "swap_settler", "swap_dashboard"])
def test_every_part_of_a_large_service_is_in_the_tree(package: str) -> None:
    [root] = ROOT.glob(f"services/*/src/{package}")
    parts = {
        f"{path.name}/" if path.is_dir() else path.name
        for path in root.iterdir()
        if path.name not in UNNAMED
    }
    named = set(re.findall(r"[\w.]+/?", FOLDERS.read_text()))

    assert parts
    assert parts - named == set()


def test_every_file_of_a_tree_exists() -> None:
    trees = "\n".join(re.findall(r"^```$(.*?)^```$", FOLDERS.read_text(), re.MULTILINE | re.DOTALL))
    named = set(re.findall(r"\w+\.py\b", trees))
    there = {path.name for path in ROOT.glob("*/**/*.py")}

    assert named
    assert named - there == set()
