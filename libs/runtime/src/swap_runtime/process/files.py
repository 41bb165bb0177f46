"""How many files, and so connections, this process may have open."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

FILES_MAX: Final = 65_536


def raise_file_limit(wanted: int = FILES_MAX) -> int:
    """Ask for as many as the system lets a process have, and return that.

    The default of many systems is 1024: too few for some thousand clients that each keep a
    connection. If the system refuses, the limit stays unchanged: no process fails to start for
    that.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(ValueError, OSError):  # some have a limit that they do not report
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        return allowed
    return soft
