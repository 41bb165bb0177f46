"""Test apps whose members handed the sandbox a key, kept over restarts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swap_stack.files import read_json, write_json


@dataclass(frozen=True, slots=True)
class JoinedApps:
    """Keys by app id, in a file that its owner alone reads."""

    file: Path

    def keys_by_app(self) -> Mapping[str, str]:
        """Return the keys by app id, read anew each time."""
        stored: Mapping[str, str] = read_json(self.file) or {}
        return stored

    def add(self, app_id: str, key: str) -> None:
        """Store an app's key in place of an earlier one."""
        self._write({**self.keys_by_app(), app_id: key})

    def forget(self, key: str) -> None:
        """Forget a key that the service refuses: it was revoked, or it expired."""
        self._write({app_id: one for app_id, one in self.keys_by_app().items() if one != key})

    def _write(self, keys: Mapping[str, str]) -> None:
        write_json(self.file, dict(keys))
