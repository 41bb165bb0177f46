"""The end of a process at a crash point, in a test that runs the process's code itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import NoReturn

import pytest


class ProcessKilled(BaseException):
    """Represents the end of the process."""


def killed_at(monkeypatch: pytest.MonkeyPatch, point: str, *modules: ModuleType) -> None:
    """Raise at the first time that the modules' code reaches a point; then remove the patch."""

    def crashpoint(name: str) -> None:
        if name == point:
            monkeypatch.undo()
            raise ProcessKilled(name)

    for module in modules:
        monkeypatch.setattr(module, "crashpoint", crashpoint)


def killed_before(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Raise at the first call of a function of a module or a class; then remove the patch."""

    def call(*_: object, **__: object) -> NoReturn:
        monkeypatch.undo()
        raise ProcessKilled(name)

    monkeypatch.setattr(owner, name, call)


@contextmanager
def dying_at(point: str, *modules: ModuleType) -> Iterator[pytest.MonkeyPatch]:
    """Raise whenever the modules' code reaches a point, until the block ends."""

    def crashpoint(name: str) -> None:
        if name == point:
            raise ProcessKilled(name)

    with pytest.MonkeyPatch.context() as patch, suppress(ProcessKilled):
        for module in modules:
            patch.setattr(module, "crashpoint", crashpoint)
        yield patch
