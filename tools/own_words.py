"""Fail when a tracked file names a package host or a path of one machine, or is named for nothing."""

import re
import subprocess
import sys
from pathlib import PurePath

HOSTS = r"(pypi|pythonhosted|npmjs|crates|repo1?\.maven|proxy\.golang)\.(org|com|io)"
FORBIDDEN = re.compile(rf"{HOSTS}|/(root|home)/[a-z]|/work/[a-z]")
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "manager", "core"}
SELF = "tools/own_words.py"


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if path != SELF]


def offences(path: str) -> list[str]:
    found = []
    if PurePath(path).suffix in (".py", ".ts", ".sol") and PurePath(path).stem in VAGUE:
        found.append(f"{path}: the name says nothing")
    try:
        text = open(path, encoding="utf-8").read()
    except (UnicodeDecodeError, FileNotFoundError):
        return found
    lines = enumerate(text.splitlines(), 1)
    return found + [
        f"{path}:{n}: {m.group()}" for n, line in lines if (m := FORBIDDEN.search(line))
    ]


def main() -> int:
    found = [offence for path in tracked() for offence in offences(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
