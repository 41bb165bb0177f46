"""Fail when a file is too long to be read in one sitting. A file is cut by meaning, not by size."""

from pathlib import Path

from linting import lint

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


def offences(path: Path) -> list[str]:
    lines = path.read_text().count("\n")
    return [f"{path}: {lines} lines, at most {LINES_MAX}"] if lines > LINES_MAX else []


if __name__ == "__main__":
    lint(files_of, offences)
