"""Fail when a file is too long to be read in one sitting: 400 lines of source, 600 of tests."""

import sys
from pathlib import Path

SOURCE_MAX = 400
TEST_MAX = 600


def lines_max(path: Path) -> int:
    is_test = "tests" in path.parts or "test" in path.parts
    return TEST_MAX if is_test else SOURCE_MAX


def is_generated(path: Path) -> bool:
    """Nobody has to read what a generator writes."""
    return "Generated from " in path.read_text().partition("\n")[0]


def main(roots: list[str]) -> int:
    files = [
        path
        for root in roots
        for pattern in ("*.py", "*.sol")
        for path in sorted(Path(root).rglob(pattern))
        if "node_modules" not in path.parts and not is_generated(path)
    ]
    found = [
        f"{path}: {lines} lines, at most {lines_max(path)}"
        for path in files
        if (lines := path.read_text().count("\n")) > lines_max(path)
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
