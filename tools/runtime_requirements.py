"""Print what some members of the workspace need at run time, from requirements.lock, by hash.

    python tools/runtime_requirements.py libs/* services/* cli >runtime.txt

The lock has everything, tests and linters included; its `# via` comments say who needs what.
Name the libs too: a member's own dependencies are not in the lock when they are members.
"""

import re
import sys
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"
# One requirement with its marker, its hashes and its comments.
BLOCK = re.compile(r"^(?P<name>[\w.-]+)==.*\n(?:[ ]{4}.*\n)+", re.M)
VIA = re.compile(r"^ {4}#(?: via)?\s+(?P<name>[\w.-]+)$", re.M)
COMMENT = re.compile(r"^ {4}#.*\n", re.M)


class NoRequirementFound(Exception):
    """No requirement of the lock is there for any of these members."""


def runtime_requirements(lock: str, members: Collection[str]) -> str:
    """Return the lock's requirements that the members reach, in its order.

    :raises NoRequirementFound: when there are none.
    """
    blocks = [(match["name"], match[0]) for match in BLOCK.finditer(lock)]
    needed_by = {name: {via["name"] for via in VIA.finditer(text)} for name, text in blocks}
    reached = _reachable(needed_by, set(members))
    if not reached:
        raise NoRequirementFound(", ".join(sorted(members)))
    return "".join(COMMENT.sub("", text) for name, text in blocks if name in reached)


def _reachable(needed_by: Mapping[str, Collection[str]], roots: Collection[str]) -> set[str]:
    reached: set[str] = set()
    while fresh := {
        name
        for name, parents in needed_by.items()
        if name not in reached and any(parent in reached or parent in roots for parent in parents)
    }:
        reached |= fresh
    return reached


def member_name(folder: str) -> str:
    return str(tomllib.loads((Path(folder) / "pyproject.toml").read_text())["project"]["name"])


if __name__ == "__main__":
    names = [member_name(folder) for folder in sys.argv[1:]]
    sys.stdout.write(runtime_requirements(LOCK.read_text(), names))
