"""A process may have as many connections as the system allows."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from swap_runtime.process.files import raise_file_limit

PROGRAM = """
import resource
from swap_runtime.process.files import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_file_limit({wanted}), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits_after(*, soft: int, hard: int, wanted: int) -> list[int]:
    program = PROGRAM.format(soft=soft, hard=hard, wanted=wanted)
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return [int(word) for word in completed.stdout.split()]


def test_requests_the_needed_fields() -> None:
    assert limits_after(soft=128, hard=512, wanted=256) == [256, 256, 512]


def test_file_limit_is_raised_to_the_hard_limit() -> None:
    assert limits_after(soft=128, hard=512, wanted=1024) == [512, 512, 512]


def test_file_limit_is_never_lowered() -> None:
    assert limits_after(soft=512, hard=512, wanted=256) == [256, 512, 512]


def test_refused_increase_leaves_the_file_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)

    assert raise_file_limit() == 256
