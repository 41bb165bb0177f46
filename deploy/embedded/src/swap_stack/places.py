"""Where things are: the checkout, and one stack's folder in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


@dataclass(frozen=True, slots=True)
class Places:
    """One stack's files. Everything it writes is below `var`."""

    var: Path
    root: Path = ROOT

    @property
    def logs(self) -> Path:
        return self.var / "log"

    @property
    def stack_file(self) -> Path:
        """Describe what runs, for everyone; exists only while the stack is up."""
        return self.var / "stack.json"

    @property
    def processes_file(self) -> Path:
        """Name every process that was started, for `down`."""
        return self.var / "processes.json"

    @property
    def ports_file(self) -> Path:
        return self.var / "ports.json"

    @property
    def secrets_file(self) -> Path:
        return self.var / "secrets.json"

    @property
    def deployment_file(self) -> Path:
        """Keep the addresses of what was deployed on each chain."""
        return self.var / "deployment.json"

    @property
    def up_lock(self) -> Path:
        """Be held by the `up` that is at work."""
        return self.var / ".up.lock"

    @property
    def catalogue_file(self) -> Path:
        return self.var / "catalogue.yaml"

    @property
    def prices_file(self) -> Path:
        return self.var / "prices.json"

    @property
    def partners_file(self) -> Path:
        """Keep the partners' keys, which the services show once."""
        return self.var / "partners.json"

    @property
    def sandbox(self) -> Path:
        """Return the folder of the sandbox: keys of further apps, and the swaps that it paid."""
        return self.var / "sandbox"

    @property
    def supervisor_file(self) -> Path:
        """Return the file that lists what the supervisor runs."""
        return self.var / "supervisor.json"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def display_path(self, path: Path) -> str:
        """Return a path as a reader of the checkout writes it."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


def default_places() -> Places:
    """Return `var/` of the checkout, or the folder that STACK_DIR names."""
    return Places(Path(os.environ.get("STACK_DIR") or ROOT / "var").resolve())
