"""Fail when a page links to a file that is not there."""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True)
    return [Path(line) for line in listed.stdout.splitlines()]


def main() -> int:
    found = [
        f"{page}: {link}"
        for page in pages()
        for link in LINK.findall(page.read_text())
        if not (page.parent / link).exists()
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
