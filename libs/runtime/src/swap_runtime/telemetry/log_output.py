"""Standard output that does not block: lines that it does not take soon are dropped.

What collects logs may be stuck or gone. A write to a full pipe blocks the event loop, and with it
payments, health answers and leases; a write to a closed one raises. Logs are worth less than that.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from io import UnsupportedOperation
from typing import Final, TextIO

from swap_runtime.telemetry.metrics import counter

# A pipe that poll calls writable takes so much without blocking (PIPE_BUF of Linux).
AT_ONCE_BYTES: Final = 4096
# A burst of lines waits so long for its reader, once: until a line is taken no other waits.
WRITE_TIMEOUT_MS: Final = 20
GONE: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL
DROPPED: Final = counter(
    "log_lines_dropped", "Log lines dropped because standard output was blocked"
)

WritePart = Callable[[bytes, int], int]


class LogOutput:
    """Takes whole lines, as bytes or as text."""

    def __init__(self, stream: TextIO | None) -> None:
        self._write_part = _part_writer(stream)
        self._is_partial = False  # whether the last line was taken in part
        self._write_timeout_ms = WRITE_TIMEOUT_MS

    def write(self, line: bytes | str) -> int:
        """Write a line, or drop the rest of it when the stream takes no more."""
        data = line.encode(errors="backslashreplace") if isinstance(line, str) else line
        left = b"\n" + data if self._is_partial else data
        while left:
            written = self._write_part(left[:AT_ONCE_BYTES], self._write_timeout_ms)
            if written == 0:
                self._write_timeout_ms = 0
                self._is_partial = self._is_partial or len(left) < len(data)
                DROPPED.inc()
                return len(data)
            left = left[written:]
        self._is_partial = False
        self._write_timeout_ms = WRITE_TIMEOUT_MS
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered here."""


def _part_writer(stream: TextIO | None) -> WritePart:
    """Return a function that writes as much of a part as the stream takes."""
    if stream is None:  # the process was started without one
        return lambda _, __: 0
    try:
        descriptor = stream.fileno()
    except (UnsupportedOperation, ValueError):
        return lambda part, _: stream.buffer.write(part)
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)

    def write_part(part: bytes, write_timeout_ms: int) -> int:
        events = [event for _, event in poll.poll(write_timeout_ms)]
        if not events or events[0] & GONE:
            return 0
        try:
            return os.write(descriptor, part)
        except OSError:
            return 0

    return write_part
