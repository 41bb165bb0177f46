"""A link leads to a file that exists, and to one of its anchors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.links import anchors, is_dead

PAGE = """
# Keys, and `secrets`

## A signer's [key](keys.md)

### pay_links

## Again
## Again

<a id="not-found"></a>

```
# no heading
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_anchors_are_githubs_slugs_and_explicit_ids(page: Path) -> None:
    slugs = {"keys-and-secrets", "a-signers-key", "pay_links", "again", "again-1"}

    assert anchors(page) == slugs | {"not-found"}


@pytest.mark.parametrize(
    ("link", "anchor", "dead"),
    [
        ("page.md", "", False),
        ("page.md", "pay_links", False),
        ("", "again-1", False),
        ("", "again-2", True),
        ("page.md", "no-heading", True),
        ("missing.md", "", True),
        ("missing.md", "again", True),
    ],
)
def test_link_to_a_missing_file_or_anchor_is_dead(
    page: Path, link: str, anchor: str, *, dead: bool
) -> None:
    assert is_dead(page, link, anchor) is dead
