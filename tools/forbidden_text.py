"""Fail when a file names a package host or a machine's path, or has a name that says nothing."""

import re
import subprocess
from pathlib import Path, PurePath

from linting import report

HOSTS = r"(pypi|pythonhosted|npmjs|crates|repo1?\.maven|proxy\.golang)\.(org|com|io)"
FORBIDDEN = re.compile(rf"{HOSTS}|/(root|home)/[a-z]|/work/[a-z]")
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "manager", "core"}
SELF = "tools/forbidden_text.py"


def tracked_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if path != SELF]


def offences(path: str) -> list[str]:
    found = []
    if PurePath(path).suffix in (".py", ".ts", ".sol") and PurePath(path).stem in VAGUE:
        found.append(f"{path}: the name says nothing")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return found
    for number, line in enumerate(text.splitlines(), 1):
        if match := FORBIDDEN.search(line):
            found.append(f"{path}:{number}: {match.group()}")
    return found


if __name__ == "__main__":
    paths = tracked_files()
    found = [] if paths else ["no file to check"]
    report(found + [offence for path in paths for offence in offences(path)])
