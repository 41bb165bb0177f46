"""Places where a process may die, so that tests can kill it exactly there.

`CRASH_AT=name:n` ends the process, as a kill would, the n-th time it passes the point of that
name. `CRASH_LOG=path` writes down every point passed, so that a test can count them first.
Without the two variables a point does nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Final

KILLED: Final = 137  # as a shell reports SIGKILL

_passed: Counter[str] = Counter()


def crashpoint(name: str) -> None:
    """End the process here if the environment requires it."""
    log, target = os.environ.get("CRASH_LOG"), os.environ.get("CRASH_AT")
    if log is None and target is None:
        return
    _passed[name] += 1
    passed = f"{name}:{_passed[name]}"
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{passed}\n")
    if passed == target:
        os._exit(KILLED)
