"""Writes generated files, or checks that they are current."""

import sys
from collections.abc import Mapping
from pathlib import Path


def write_or_check(files: Mapping[str, str]) -> None:
    """Write stale files; with --check exit with an error if one is stale."""
    if not files:
        sys.exit("there is nothing to generate")
    stale = [path for path, text in files.items() if not _is_current(Path(path), text)]
    if "--check" in sys.argv:
        if stale:
            sys.exit(f"not up to date, run `make generate`: {', '.join(stale)}")
        return
    for path in stale:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(files[path])
        print(f"wrote {path}")


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text
