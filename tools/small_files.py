"""Fail when a file is too long to be read in one sitting. A file is cut by meaning, not by size."""

import sys
from pathlib import Path

LINES_MAX = 600


def is_generated(path: Path) -> bool:
    """Generated files are exempt: they are not read by people."""
    return "Generated from " in path.read_text().partition("\n")[0]


def files_of(root: str) -> list[Path]:
    return [
        path
        for pattern in ("*.py", "*.sol")
        for path in sorted(Path(root).rglob(pattern))
        if "node_modules" not in path.parts and not is_generated(path)
    ]


def main(roots: list[str]) -> int:
    files = [path for root in roots for path in files_of(root)]
    found = [f"{root}: no file to check" for root in roots if not files_of(root)]
    found += [
        f"{path}: {lines} lines, at most {LINES_MAX}"
        for path in files
        if (lines := path.read_text().count("\n")) > LINES_MAX
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
