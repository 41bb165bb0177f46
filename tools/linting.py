"""Reports what a lint finds in the files below some folders."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path


def lint(files_of: Callable[[str], Iterable[Path]], offences: Callable[[Path], list[str]]) -> None:
    """Print the offences below the folders of the command line, and exit with 1 if there are any.

    :param files_of: the files below a folder; a folder without one is an offence, too, and so is
        a command line without folders.
    """
    roots = sys.argv[1:]
    found = [] if roots else ["no folder to check"]
    for root in roots:
        files = list(files_of(root))
        found += [offence for path in files for offence in offences(path)]
        if not files:
            found.append(f"{root}: no file to check")
    report(found)


def report(found: list[str]) -> None:
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
