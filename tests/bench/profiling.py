"""One service looked at from outside while it works, where a profiler is at hand."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def profiled(pid: int | None, folder: Path, seconds: int) -> Iterator[None]:
    """Let `py-spy`, or what PROFILER names, record a process; its answer is a file of stacks."""
    if pid is None:
        yield
        return
    program = os.environ.get("PROFILER", "py-spy")
    written = str(folder / "profile.txt")
    options = ["--format", "raw", "--rate", "199", "--duration", str(seconds), "-o", written]
    with subprocess.Popen(
        [program, "record", "--pid", str(pid), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ):
        yield
