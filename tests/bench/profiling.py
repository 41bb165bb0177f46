"""Profiles of running processes, if a profiler is installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def profile_processes(pids: Mapping[str, int], folder: Path, seconds: int) -> Iterator[None]:
    """Let `py-spy`, or the program in PROFILER, record processes: one file of stacks for each."""
    program = os.environ.get("PROFILER", "py-spy")
    options = [
        "--gil",
        "--format",
        "raw",
        "--rate",
        "40",
        "--nonblocking",
        "--duration",
        str(seconds),
    ]
    with ExitStack() as recording:
        for name, pid in pids.items():
            written = str(folder / f"profile-{name}.txt")
            command = [program, "record", "--pid", str(pid), *options, "-o", written]
            recording.enter_context(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        yield
