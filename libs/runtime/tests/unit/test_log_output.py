"""Logging does not wait for the log collector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from swap_runtime.telemetry.log_output import DROPPED, WRITE_TIMEOUT_MS, LogOutput

pytestmark = pytest.mark.fault("M11")
LINES = 2000  # more than the 64 KiB of a pipe
# Logs, then writes to a file that it continued and the number of dropped lines.
LOGS_AND_GOES_ON = f"""
import logging, sys
import structlog
from swap_runtime.telemetry.log_output import DROPPED
from swap_runtime.telemetry.logging import configure_logging
configure_logging("settler")
for number in range({LINES}):
    structlog.get_logger().info("payout sent", number=number, padding="x" * 100)
    logging.getLogger("aiokafka").warning("lost %s", number)
print(int(DROPPED._value.get()), file=open(sys.argv[1], "w"))
"""


@pytest.fixture
def done(tmp_path: Path) -> Path:
    return tmp_path / "done"


def logging_to(stdout: int, done: Path, *, wrapper: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    command = [*wrapper, sys.executable, "-c", LOGS_AND_GOES_ON, str(done)]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE)


def dropped(process: subprocess.Popen[bytes], done: Path) -> int:
    """Wait for the end of a process and return the number of dropped lines."""
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, b"")
    return int(done.read_text())


def test_m11_unread_pipe_does_not_block_the_process(done: Path) -> None:
    reading, writing = os.pipe()
    process = logging_to(writing, done)
    os.close(writing)

    assert 0 < dropped(process, done) < 2 * LINES
    with os.fdopen(reading) as pipe:
        *lines, _ = pipe.read().splitlines()
    assert len(lines) > 100
    assert all(json.loads(line)["service"] == "settler" for line in lines)


def test_m11_pipe_without_a_reader_does_not_block_the_process(done: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = logging_to(writing, done)
    os.close(writing)

    assert dropped(process, done) == 2 * LINES


def test_m11_a_process_without_standard_output_runs(done: Path) -> None:
    process = logging_to(subprocess.DEVNULL, done, wrapper=["sh", "-c", 'exec "$@" >&-', "sh"])

    assert dropped(process, done) == 2 * LINES


def test_m11_every_line_reaches_a_file(done: Path, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        process = logging_to(log.fileno(), done)

    assert dropped(process, done) == 0
    assert (tmp_path / "log").read_text().count("\n") == 2 * LINES


def test_m11_a_stuck_stream_is_waited_for_once() -> None:
    output, accepted_bytes, waited = LogOutput(None), [0, 0, 5, 0], []

    def take(_: bytes, write_timeout_ms: int) -> int:
        waited.append(write_timeout_ms)
        return accepted_bytes.pop(0)

    output._write_part = take
    for _ in range(4):
        output.write(b"line\n")

    assert waited == [WRITE_TIMEOUT_MS, 0, 0, WRITE_TIMEOUT_MS]


def test_m11_the_line_after_a_truncated_one_is_separate() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "w") as stream:
        output = LogOutput(stream)
        before = DROPPED._value.get()
        long = b"x" * 100_000 + b"\n"

        output.write(long)
        output.write(b"dropped\n")
        cut = os.read(pipe.fileno(), 100_000)
        output.write(b"whole\n")

        assert DROPPED._value.get() - before == 2
        assert long.startswith(cut)
        assert os.read(pipe.fileno(), 100) == b"\nwhole\n"
