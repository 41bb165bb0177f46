"""A process may have as many connections as the system lets it."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from swap_runtime.process.files import let_many_files_be_open

PROGRAM = """
import resource
from swap_runtime.process.files import let_many_files_be_open
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(let_many_files_be_open({wanted}), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def told(*, soft: int, hard: int, wanted: int) -> list[int]:
    program = PROGRAM.format(soft=soft, hard=hard, wanted=wanted)
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return [int(word) for word in said.stdout.split()]


def test_asks_for_what_it_wants() -> None:
    assert told(soft=128, hard=512, wanted=256) == [256, 256, 512]


def test_takes_what_there_is() -> None:
    assert told(soft=128, hard=512, wanted=1024) == [512, 512, 512]


def test_gives_nothing_back() -> None:
    assert told(soft=512, hard=512, wanted=256) == [256, 512, 512]


def test_keeps_what_it_has_where_the_system_refuses_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)

    assert let_many_files_be_open() == 256
