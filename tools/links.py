"""Fail when a page links to a file or an anchor that does not exist."""

import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]+))?")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
EXPLICIT = re.compile(r"""<a (?:id|name)=["']([^"']+)["']""")
LINK_TEXT = re.compile(r"\[([^]]*)\]\([^)]*\)")


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True)
    return [Path(line) for line in listed.stdout.splitlines()]


@cache
def text_of(page: Path) -> str:
    return FENCED.sub("", page.read_text())


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return explicit anchors, and GitHub's slugs: a repeated heading gets a number."""
    slugs = [
        re.sub(r"[^\w\- ]", "", LINK_TEXT.sub(r"\1", heading).lower()).replace(" ", "-")
        for heading in HEADING.findall(text_of(page))
    ]
    seen: Counter[str] = Counter()
    for place, slug in enumerate(slugs):
        slugs[place] = f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1
    return frozenset([*slugs, *EXPLICIT.findall(text_of(page))])


def is_dead(page: Path, link: str, anchor: str) -> bool:
    target = page.parent / link if link else page
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


def main() -> int:
    listed = pages()
    found = [] if listed else ["no page to check"]
    found += [
        f"{page}: {link}{anchor and f'#{anchor}'}"
        for page in listed
        for link, anchor in LINK.findall(text_of(page))
        if is_dead(page, link, anchor)
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
